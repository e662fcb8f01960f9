package main

import "embed"

// scripts have a shell ask "transcriptctl __complete WORD..." for what the last word may be.
//
//go:embed completions
var scripts embed.FS

type completionsCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

func (c *completionsCommand) Help() string {
	return `Prints a script that has the shell complete commands, flags and their values, files, contexts, and, where the server answers within a second, namespaces and aliases, as the flags on the line and the environment reach it. For all shells from now on:

    transcriptctl completions bash > ~/.local/share/bash-completion/completions/transcriptctl
    transcriptctl completions zsh > "${fpath[1]}/_transcriptctl"
    transcriptctl completions fish > ~/.config/fish/completions/transcriptctl.fish

For this one:

    source <(transcriptctl completions bash)
    source <(transcriptctl completions zsh)
    transcriptctl completions fish | source`
}

// AsksNoServer has it run without one.
func (*completionsCommand) AsksNoServer() {}

// Run prints the script of a shell.
func (c *completionsCommand) Run(s *session) error {
	script, err := scripts.ReadFile("completions/" + c.Shell)
	if err != nil {
		return err
	}
	_, err = s.out.Write(script)
	return err
}
