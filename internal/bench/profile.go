package bench

import "time"

// profile takes profiles of what is measured until the function that it returns is called.
func (e *env) profile(while time.Duration) (stop func()) { return func() {} }
