/*
 * caclient is a Channel Access client on libca that measures on command.
 *
 * It reads commands from standard input, one a line, and answers each with one
 * line that begins with "ok" or "error":
 *
 *	open NAME               connect and keep a channel; answers its number of elements
 *	fill NAME               write zeros to all elements of an array
 *	get NAME MS             read again and again for so long; answers ns for each
 *	put NAME MS             write with a callback, the same
 *	connect PREFIX N        connect PREFIX00000 ... at once; answers ns until the last one is
 *	watch NAME              subscribe and forget
 *	follow NAME             subscribe to a value that is its own time in ns; answers "ok", and the
 *	                        age in ns of each that comes
 *	count PREFIX N SAMPLES  subscribe to N counters; answers "ok" when each has spoken, and later
 *	                        "ok SAMPLES MISSING REPEATED BACKWARDS OTHER" when each has SAMPLES more.
 *	                        No value may be missing or come again, no time stamp go backwards, and
 *	                        the severity must be MINOR.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <alarm.h>
#include <cadef.h>
#include <epicsEvent.h>
#include <epicsMutex.h>

#define LIMIT 30.0 /* seconds until an answer is given up */

static int64_t now_of(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t now(void) { return now_of(CLOCK_MONOTONIC); }

static void fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	printf("error ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	fflush(stdout);
	exit(1);
}

static void check(int status, const char *what)
{
	if (status != ECA_NORMAL)
		fail("%s: %s", what, ca_message(status));
}

static void *allocate(size_t count, size_t size)
{
	void *p = calloc(count, size);
	if (!p)
		fail("out of memory");
	return p;
}

/* Durations are kept while measuring and printed afterwards. */
static int64_t *durations;
static size_t used, room;

static void keep(int64_t ns)
{
	if (used == room) {
		room = room ? 2 * room : 1 << 14;
		durations = realloc(durations, room * sizeof *durations);
		if (!durations)
			fail("out of memory");
	}
	durations[used++] = ns;
}

static void answer_durations(void)
{
	printf("ok");
	for (size_t i = 0; i < used; i++)
		printf(" %" PRId64, durations[i]);
	printf("\n");
	used = 0;
}

/* Channels that stay. */
struct channel {
	char name[64];
	chid id;
	struct channel *next;
};

static struct channel *channels;

static struct channel *channel(const char *name)
{
	for (struct channel *c = channels; c; c = c->next)
		if (strcmp(c->name, name) == 0)
			return c;
	struct channel *c = allocate(1, sizeof *c);
	snprintf(c->name, sizeof c->name, "%s", name);
	check(ca_create_channel(name, NULL, NULL, CA_PRIORITY_DEFAULT, &c->id), "ca_create_channel");
	check(ca_pend_io(4 * LIMIT), name);
	c->next = channels;
	channels = c;
	return c;
}

static void get(const char *name, int ms)
{
	struct channel *c = channel(name);
	chtype type = dbf_type_to_DBR_TIME(ca_field_type(c->id));
	unsigned long count = ca_element_count(c->id);
	void *buffer = allocate(1, dbr_size_n(type, count));
	int64_t end = now() + (int64_t)ms * 1000000, start;
	while ((start = now()) < end) {
		check(ca_array_get(type, count, c->id, buffer), "ca_array_get");
		check(ca_pend_io(LIMIT), "ca_pend_io");
		keep(now() - start);
	}
	free(buffer);
	answer_durations();
}

/* Events and locks live as long as the program: whoever triggers one may still hold it when the waiter goes on. */
static epicsEventId put_done;
static int put_status;

static void on_put(struct event_handler_args args)
{
	put_status = args.status;
	epicsEventMustTrigger(put_done);
}

static void put_once(struct channel *c, unsigned long count, const double *values)
{
	check(ca_array_put_callback(DBR_DOUBLE, count, c->id, values, on_put, NULL), "ca_array_put_callback");
	check(ca_flush_io(), "ca_flush_io");
	if (epicsEventWaitWithTimeout(put_done, LIMIT) != epicsEventOK)
		fail("no callback of a put to %s", c->name);
	check(put_status, "put");
}

static void put(const char *name, int ms)
{
	static double value;
	struct channel *c = channel(name);
	int64_t end = now() + (int64_t)ms * 1000000, start;
	while ((start = now()) < end) {
		value++;
		put_once(c, 1, &value);
		keep(now() - start);
	}
	answer_durations();
}

static void fill(const char *name)
{
	struct channel *c = channel(name);
	unsigned long count = ca_element_count(c->id);
	double *zeros = allocate(count, sizeof *zeros);
	put_once(c, count, zeros);
	free(zeros);
	printf("ok %lu\n", count);
}

/* What is still missing, counted down to the event. */
struct pending {
	epicsMutexId lock;
	epicsEventId none;
	int left;
};

static struct pending connections, begun, done;

static void make(struct pending *p)
{
	p->lock = epicsMutexMustCreate();
	p->none = epicsEventMustCreate(epicsEventEmpty);
}

static void pend(struct pending *p, int count)
{
	epicsMutexMustLock(p->lock);
	p->left = count;
	epicsMutexUnlock(p->lock);
}

static void arrived(struct pending *p)
{
	epicsMutexMustLock(p->lock);
	bool last = --p->left == 0;
	epicsMutexUnlock(p->lock);
	if (last)
		epicsEventMustTrigger(p->none);
}

static void await(struct pending *p, double seconds, const char *what)
{
	if (epicsEventWaitWithTimeout(p->none, seconds) != epicsEventOK)
		fail("%s: %d missing after %g s", what, p->left, seconds);
}

static void on_connection(struct connection_handler_args args)
{
	if (args.op == CA_OP_CONN_UP)
		arrived(&connections);
}

static chid *connect_all(const char *prefix, int n)
{
	pend(&connections, n);
	chid *ids = allocate(n, sizeof *ids);
	int64_t start = now();
	for (int i = 0; i < n; i++) {
		char name[64];
		snprintf(name, sizeof name, "%s%05d", prefix, i);
		check(ca_create_channel(name, on_connection, NULL, CA_PRIORITY_DEFAULT, &ids[i]), "ca_create_channel");
	}
	check(ca_flush_io(), "ca_flush_io");
	await(&connections, LIMIT, "connect");
	keep(now() - start);
	for (int i = 0; i < n; i++)
		check(ca_change_connection_event(ids[i], NULL), "ca_change_connection_event");
	return ids;
}

static void connect_channels(const char *prefix, int n)
{
	chid *ids = connect_all(prefix, n);
	for (int i = 0; i < n; i++)
		check(ca_clear_channel(ids[i]), "ca_clear_channel");
	check(ca_flush_io(), "ca_flush_io");
	free(ids);
	answer_durations();
}

static void on_ignored(struct event_handler_args args) { (void)args; }

static void watch(const char *name)
{
	struct channel *c = channel(name);
	check(ca_create_subscription(dbf_type_to_DBR_TIME(ca_field_type(c->id)), 1, c->id, DBE_VALUE | DBE_ALARM, on_ignored, NULL, NULL),
		"ca_create_subscription");
	check(ca_flush_io(), "ca_flush_io");
	printf("ok\n");
}

static void on_time(struct event_handler_args args)
{
	static bool known;
	int64_t arrival = now_of(CLOCK_REALTIME);
	if (args.status != ECA_NORMAL)
		return;
	if (known)
		printf("ok %" PRId64 "\n", arrival - (int64_t)((const struct dbr_time_double *)args.dbr)->value);
	else
		printf("ok\n"); /* this one was there before */
	known = true;
	fflush(stdout);
}

static void follow(const char *name)
{
	struct channel *c = channel(name);
	check(ca_create_subscription(DBR_TIME_DOUBLE, 1, c->id, DBE_VALUE, on_time, NULL, NULL), "ca_create_subscription");
	check(ca_flush_io(), "ca_flush_io");
}

/* A counter and what was seen of it. */
struct counter {
	struct count *of;
	int samples; /* -1 before the first */
	double last;
	epicsTimeStamp at;
};

struct count {
	int wanted;
	long long samples, missing, repeated, backwards, other;
};

static bool later(const epicsTimeStamp *a, const epicsTimeStamp *b)
{
	return a->secPastEpoch != b->secPastEpoch ? a->secPastEpoch > b->secPastEpoch : a->nsec > b->nsec;
}

/* Runs in the one thread that receives from the server. */
static void on_counter(struct event_handler_args args)
{
	struct counter *c = args.usr;
	struct count *of = c->of;
	if (args.status != ECA_NORMAL || c->samples == of->wanted)
		return;
	const struct dbr_time_double *d = args.dbr;
	if (c->samples < 0) {
		arrived(&begun);
	} else {
		of->samples++;
		if (d->value > c->last)
			of->missing += (long long)(d->value - c->last) - 1;
		else
			of->repeated++;
		if (!later(&d->stamp, &c->at))
			of->backwards++;
		if (d->severity != MINOR_ALARM)
			of->other++;
	}
	c->last = d->value;
	c->at = d->stamp;
	if (++c->samples == of->wanted)
		arrived(&done);
}

static void count(const char *prefix, int n, int samples)
{
	chid *ids = connect_all(prefix, n);
	used = 0;
	struct count all = {.wanted = samples};
	pend(&begun, n);
	pend(&done, n);
	struct counter *counters = allocate(n, sizeof *counters);
	for (int i = 0; i < n; i++) {
		counters[i].of = &all;
		counters[i].samples = -1;
		check(ca_create_subscription(DBR_TIME_DOUBLE, 1, ids[i], DBE_VALUE | DBE_ALARM, on_counter, &counters[i], NULL), "ca_create_subscription");
	}
	check(ca_flush_io(), "ca_flush_io");
	await(&begun, LIMIT, "first values");
	printf("ok\n");
	fflush(stdout);
	await(&done, samples / 10.0 * 1.2 + LIMIT, "samples");
	for (int i = 0; i < n; i++)
		check(ca_clear_channel(ids[i]), "ca_clear_channel");
	check(ca_flush_io(), "ca_flush_io");
	printf("ok %lld %lld %lld %lld %lld\n", all.samples, all.missing, all.repeated, all.backwards, all.other);
	free(counters);
	free(ids);
}

int main(void)
{
	char line[256], command[16], name[64];
	put_done = epicsEventMustCreate(epicsEventEmpty);
	make(&connections);
	make(&begun);
	make(&done);
	check(ca_context_create(ca_enable_preemptive_callback), "ca_context_create");
	while (fgets(line, sizeof line, stdin)) {
		int n = 0, samples = 0;
		int words = sscanf(line, "%15s %63s %d %d", command, name, &n, &samples);
		if (words == 2 && strcmp(command, "open") == 0)
			printf("ok %lu\n", ca_element_count(channel(name)->id));
		else if (words == 2 && strcmp(command, "fill") == 0)
			fill(name);
		else if (words == 2 && strcmp(command, "watch") == 0)
			watch(name);
		else if (words == 2 && strcmp(command, "follow") == 0)
			follow(name);
		else if (words == 3 && n > 0 && strcmp(command, "get") == 0)
			get(name, n);
		else if (words == 3 && n > 0 && strcmp(command, "put") == 0)
			put(name, n);
		else if (words == 3 && n > 0 && strcmp(command, "connect") == 0)
			connect_channels(name, n);
		else if (words == 4 && n > 0 && samples > 0 && strcmp(command, "count") == 0)
			count(name, n, samples);
		else
			fail("there is no such command: %s", line);
		fflush(stdout);
	}
	ca_context_destroy();
	return 0;
}
