import gov.aps.jca.CAStatus;
import gov.aps.jca.Channel;
import gov.aps.jca.Context;
import gov.aps.jca.JCALibrary;
import gov.aps.jca.Monitor;
import gov.aps.jca.configuration.DefaultConfiguration;
import gov.aps.jca.dbr.DBR;
import gov.aps.jca.dbr.DBRType;
import gov.aps.jca.dbr.DBR_CTRL_Double;
import gov.aps.jca.dbr.DBR_LABELS_Enum;
import gov.aps.jca.dbr.DBR_TIME_Double;
import gov.aps.jca.event.GetEvent;
import gov.aps.jca.event.MonitorEvent;
import gov.aps.jca.event.PutEvent;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Does with the Java client what people do with it, and prints what it sees, a line for each step.
 *
 * <p>JCAClient.java HOST:PORT, where searches are answered.
 */
public class JCAClient {
    static final double LIMIT = 20;

    static Context context;

    public static void main(String[] args) throws Exception {
        DefaultConfiguration config = new DefaultConfiguration("loopback");
        config.setAttribute("class", JCALibrary.CHANNEL_ACCESS_JAVA);
        config.setAttribute("addr_list", args[0]);
        config.setAttribute("auto_addr_list", "false");
        context = JCALibrary.getInstance().createContext(config);
        try {
            Channel level = connect("X:Level");
            Channel readback = connect("X:Level_RBV");
            System.out.println("level is " + level.getFieldType().getName() + ", count " + level.getElementCount()
                + ", may read " + level.getReadAccess() + ", may write " + level.getWriteAccess());
            System.out.println("readback may write " + readback.getWriteAccess());

            BlockingQueue<Double> events = new LinkedBlockingQueue<>();
            readback.addMonitor(DBRType.TIME_DOUBLE, 1, Monitor.VALUE, (MonitorEvent e) ->
                events.add(((DBR_TIME_Double) e.getDBR()).getDoubleValue()[0]));
            context.flushIO();
            System.out.println("monitor begins with " + next(events));
            System.out.println("put: " + put(level, new double[] {2.5}));
            System.out.println("monitor goes on with " + next(events));
            System.out.println("get: " + Arrays.toString((double[]) get(level, DBRType.DOUBLE).getValue()));
            System.out.println("put beyond the limits: " + put(level, new double[] {1000}));

            DBR_CTRL_Double ctrl = (DBR_CTRL_Double) get(level, DBRType.CTRL_DOUBLE);
            System.out.println("control: " + ctrl.getUnits() + ", precision " + ctrl.getPrecision() + ", "
                + ctrl.getLowerCtrlLimit() + " to " + ctrl.getUpperCtrlLimit() + ", display "
                + ctrl.getLowerDispLimit() + " to " + ctrl.getUpperDispLimit());

            Channel mode = connect("X:Mode");
            System.out.println("states: " + Arrays.toString(((DBR_LABELS_Enum) get(mode, DBRType.LABELS_ENUM)).getLabels()));
            System.out.println("put: " + put(mode, new String[] {"Run"}));
            System.out.println("get: " + Arrays.toString((short[]) get(mode, DBRType.ENUM).getValue()));

            Channel names = connect("X:Names");
            System.out.println("put: " + put(names, new String[] {"one", "two", "three"}));
            System.out.println("get: " + Arrays.toString((String[]) get(names, DBRType.STRING).getValue()));

            Channel wave = connect("X:Wave");
            System.out.println("put: " + put(wave, new double[] {1, 2, 3}));
            System.out.println("get: " + Arrays.toString((double[]) get(wave, DBRType.DOUBLE).getValue()));
        } finally {
            context.destroy();
        }
    }

    static Channel connect(String name) throws Exception {
        Channel channel = context.createChannel(name);
        context.pendIO(LIMIT);
        return channel;
    }

    static DBR get(Channel channel, DBRType type) throws Exception {
        BlockingQueue<GetEvent> done = new LinkedBlockingQueue<>();
        channel.get(type, channel.getElementCount(), done::add);
        context.flushIO();
        GetEvent event = next(done);
        if (event.getStatus() != CAStatus.NORMAL) {
            throw new IllegalStateException(channel.getName() + ": " + event.getStatus());
        }
        return event.getDBR();
    }

    static String put(Channel channel, Object values) throws Exception {
        BlockingQueue<PutEvent> done = new LinkedBlockingQueue<>();
        if (values instanceof String[]) {
            channel.put((String[]) values, done::add);
        } else {
            channel.put((double[]) values, done::add);
        }
        context.flushIO();
        return next(done).getStatus().getName();
    }

    static <T> T next(BlockingQueue<T> queue) throws InterruptedException {
        T value = queue.poll((long) LIMIT, TimeUnit.SECONDS);
        if (value == null) {
            throw new IllegalStateException("nothing came within " + LIMIT + " s");
        }
        return value;
    }
}
