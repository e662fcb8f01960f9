package main

type aliasCommand struct {
	Set     aliasSetCommand     `cmd:"" help:"Point an alias to a node."`
	Delete  aliasDeleteCommand  `cmd:"" help:"Delete an alias; its nodes and its history stay."`
	List    aliasListCommand    `cmd:"" help:"List aliases."`
	Resolve aliasResolveCommand `cmd:"" help:"Tell which node an alias points to."`
	History aliasHistoryCommand `cmd:"" help:"Tell where an alias pointed, newest first."`
}
