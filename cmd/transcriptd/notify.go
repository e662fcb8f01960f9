package main

import (
	"log/slog"
	"net"
	"os"
)

// supervisorVariable names the socket on which systemd is told what becomes of a unit of Type=notify, see sd_notify(3).
const supervisorVariable = "NOTIFY_SOCKET"

// The states that systemd is told.
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
)

// notifySupervisor tells systemd a state, where systemd has started the process and asks for it. That it cannot be told stops nothing: systemd has
// its own limits for a start and a stop.
func notifySupervisor(state string, log *slog.Logger) {
	path := os.Getenv(supervisorVariable)
	if path == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(state))
		_ = conn.Close()
	}
	if err != nil {
		log.Warn("systemd could not be told", "state", state, "variable", supervisorVariable, "error", err)
	}
}
