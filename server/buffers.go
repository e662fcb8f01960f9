package server

// BytesLaid is how many bytes of buffers replies were laid and encoded into so far, whether the buffers were new or used
// again. Interceptors outside of the server's find it at their call's server.
func (t *transcripts) BytesLaid() int64 {
	return t.outgoing.Buffers.Laid()
}
