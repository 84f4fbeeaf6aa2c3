package epics_test

import (
	"strings"
	"testing"
)

// The first minute of somebody who comes with EPICS: the demo runs, nothing is
// set, and the usual programs work; then once more by name server.
func TestTheDemoForPeopleWithEPICS(t *testing.T) {
	ns := newNamespace(t)
	demo := ns.start(nil, program.Path(), "demo")
	demo.until(t, func(s string) bool { return strings.Contains(s, "Stop it with Ctrl-C") })
	ns.start(nil, "caRepeater")
	byNameServer := []string{"EPICS_CA_ADDR_LIST=", "EPICS_CA_AUTO_ADDR_LIST=NO", "EPICS_CA_NAME_SERVERS=127.0.0.1:5064"}

	const pv = "DEMO:R1:Start                  "
	for name, env := range map[string][]string{"nothing set": nil, "name server": byNameServer} {
		t.Run(name, func(t *testing.T) {
			ns := *ns
			ns.t = t
			for _, x := range []struct{ line, want string }{
				{"caput -c DEMO:R1:Start 9", "New : " + pv + "9\n"},
				{"caget DEMO:R1:Start", pv + "9\n"},
				{"caput -c DEMO:R1:Start 10", "Old : " + pv + "9\nNew : " + pv + "10\n"},
				{"caget DEMO:R1:Start_RBV", "DEMO:R1:Start_RBV              10\n"},
				{"caput DEMO:R1:Start 11", "Old : " + pv + "10\nNew : " + pv + "11\n"},
				{"caput -c DEMO:R1:Start 1000", "Channel write request failed"},
				{"caget -t DEMO:R1:Start", "11\n"},
				{"caput -c DEMO:R1:Enabled On", "New : DEMO:R1:Enabled                On\n"},
				{"caget -S DEMO:R1:Start.DESC$", "DEMO:R1:Start.DESC$ Where ramp 1 starts\n"},
				{"caget DEMO:R1:Actual.EGU DEMO:R1:Actual.HIHI DEMO:R1:Actual.RTYP", "DEMO:R1:Actual.EGU             degC\n" +
					"DEMO:R1:Actual.HIHI            180\nDEMO:R1:Actual.RTYP            ai\n"},
				{"caget -t -#2 DEMO:Voltages.NELM", "4\n"},
				{"caget -d DBR_CTRL_DOUBLE DEMO:RampRate", "    Units:            K/s\n    Precision:        3\n" +
					"    Lo disp limit:    0\n    Hi disp limit:    0\n    Lo alarm limit:   nan\n    Lo warn limit:    nan\n" +
					"    Hi warn limit:    nan\n    Hi alarm limit:   nan\n    Lo ctrl limit:    0.001\n    Hi ctrl limit:    100\n"},
				{"cainfo DEMO:R1:Actual", "    Access:           read, no write\n    Native data type: DBF_DOUBLE\n" +
					"    Request type:     DBR_DOUBLE\n    Element count:    1\n"},
				{"cainfo DEMO:R1:Start", "    Access:           read, write\n    Native data type: DBF_LONG\n" +
					"    Request type:     DBR_LONG\n    Element count:    1\n"},
				{"caput -c DEMO:R1:Actual.PROC 1", "New : DEMO:R1:Actual.PROC            0\n"},
				{"caput -c DEMO:CancelAll 1", "New : DEMO:CancelAll                 Idle\n"},
				{"caput -c DEMO:R1:Enabled.PROC 1", ""}, // before the next poll
				{"caget -t DEMO:R1:Enabled_RBV", "Off\n"},
			} {
				if got := ns.run(env, x.line); !strings.Contains(got, x.want) {
					t.Errorf("%s prints\n%s\nwant in it\n%s", x.line, got, x.want)
				}
			}
			// A ramp that runs moves, and a monitor follows it.
			monitor := ns.start(env, "camonitor", "DEMO:R1:Actual")
			ns.run(env, "caput -c DEMO:R1:Enabled On")
			monitor.until(t, func(s string) bool { return strings.Count(s, "\n") > 3 })
		})
	}
}
