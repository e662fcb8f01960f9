package main

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	unitFile      = "../../deploy/systemd/transcriptd.service"
	unitVariables = "../../deploy/systemd/transcriptd.env"
	containerFile = "../../deploy/container/Containerfile"
)

var setVariable = regexp.MustCompile(`(?m)^(?:#|Environment=|ENV +| +)?(TRANSCRIPTD_\w+)=(\S*)`)

// setAll sets the variables that a file sets, and those that it has behind a #.
func setAll(t *testing.T, text string) {
	t.Helper()
	n := 0
	for _, set := range setVariable.FindAllStringSubmatch(text, -1) {
		t.Setenv(set[1], set[2])
		n++
	}
	if all := strings.Count(text, "TRANSCRIPTD_"); n != all || n == 0 {
		t.Fatalf("%d of %d variables are set", n, all)
	}
}

// knownVariables fails for a variable that no flag has.
func knownVariables(t *testing.T, text string) {
	t.Helper()
	table := flagTable(t)
	for _, name := range regexp.MustCompile(`TRANSCRIPTD_\w+`).FindAllString(text, -1) {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("no flag has the variable %s", name)
		}
	}
}

// unitSetting is the value of a setting of the unit, which has it once.
func unitSetting(t *testing.T, unit, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^`+name+`=(.*)$`).FindAllStringSubmatch(unit, -1)
	if len(found) != 1 {
		t.Fatalf("the unit has %d settings %s", len(found), name)
	}
	return found[0][1]
}

// TestUnit: transcriptd takes the command line and variables of its unit, also with all that transcriptd.env proposes, keeps its files in the folders that
// the unit makes, and has the time, files and memory that it may need.
func TestUnit(t *testing.T) {
	unit, variables := readText(t, unitFile), readText(t, unitVariables)
	knownVariables(t, unit+variables)
	setAll(t, unit)
	args := strings.Fields(unitSetting(t, unit, "ExecStart"))[1:]
	cfg, err := parseConfig(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if folder := "/var/lib/" + unitSetting(t, unit, "StateDirectory"); !strings.HasPrefix(cfg.Store, "badger://"+folder+"/") {
		t.Errorf("the store %s is not in %s", cfg.Store, folder)
	}
	const connections, brokenDisk = 5 * time.Second, time.Minute
	stop := unitSetting(t, unit, "TimeoutStopSec")
	if given, err := time.ParseDuration(strings.TrimSuffix(stop, "in")); err != nil || given < cfg.DrainDelay+cfg.DrainTimeout+connections+brokenDisk {
		t.Errorf("TimeoutStopSec=%s is less than a drain may take, or no time: %v", stop, err)
	}
	if files, err := strconv.Atoi(unitSetting(t, unit, "LimitNOFILE")); err != nil || files < 65_536 {
		t.Errorf("%d files, %v", files, err)
	}
	most := unitSetting(t, unit, "MemoryMax")
	if gib, err := strconv.ParseInt(strings.TrimSuffix(most, "G"), 10, 64); err != nil || gib<<10 < 3*cfg.MemoryMiB {
		t.Errorf("MemoryMax=%s is less than three times %d MiB, or no number of GiB: %v", most, cfg.MemoryMiB, err)
	}

	setAll(t, variables)
	if cfg, err = parseConfig(args, io.Discard); err != nil || cfg.Insecure {
		t.Fatalf("with all of transcriptd.env: %v", err)
	}
	if folder := "/var/log/" + unitSetting(t, unit, "LogsDirectory"); !strings.HasPrefix(cfg.Audit.File, folder+"/") {
		t.Errorf("the audit %s is not in %s", cfg.Audit.File, folder)
	}
}

// TestContainer: what the container sets are variables of transcriptd, and it serves nobody from other machines until it is told whom, or that all. It is
// built with the Go of go.mod.
func TestContainer(t *testing.T) {
	text := readText(t, containerFile)
	knownVariables(t, text)
	setAll(t, text)
	wants := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readText(t, "../../go.mod"))
	if has := regexp.MustCompile(`(?m)^ARG GO_VERSION=(\d+\.\d+)\.\d+$`).FindStringSubmatch(text); has == nil || has[1] != wants[1] {
		t.Errorf("it is built with Go %v, go.mod wants %s", has, wants[1])
	}
	var usage *usageError
	if _, err := parseConfig(nil, io.Discard); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--principals") {
		t.Errorf("without principals: %v", err)
	}
	for _, args := range [][]string{{"--insecure"}, {"--principals=p", "--tls-cert=c", "--tls-key=k"}} {
		if cfg, err := parseConfig(args, io.Discard); err != nil || !strings.Contains(text, "\nVOLUME "+strings.TrimSuffix(strings.TrimPrefix(cfg.Store, "badger://"), "/store")+"\n") {
			t.Errorf("with %v: %v", args, err)
		}
	}
}
