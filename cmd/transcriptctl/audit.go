package main

type auditCommand struct {
	Verify auditVerifyCommand `cmd:"" help:"Find what was changed in an audit, taken out of it, put in, moved or cut off."`
}
