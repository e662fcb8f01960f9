package badgerstore
import ("testing";"fmt";"time";"math/rand/v2";"sync";"context";"runtime";"os";"github.com/transcriptd/transcriptd/chainstore")
func TestZZLoad(t *testing.T){
	dir := "/tmp/zzstore"
	ids := make([]chainstore.ID, 0)
	if os.Getenv("ZZ") == "write" {
		os.RemoveAll(dir)
		s, err := Open(dir, Options{})
		if err != nil { t.Fatal(err) }
		var mu sync.Mutex
		var wg sync.WaitGroup
		start := time.Now()
		total := 0
		for w := range 64 {
			wg.Go(func(){
				r := rand.New(rand.NewPCG(1, uint64(w)))
				end := put(t, s, node(nil, fmt.Sprint(w)))[0].ID
				for i := range 1000 {
					b := make([]byte, 2000)
					for j := range b { b[j] = "abcdefgh      etaoin"[r.IntN(20)] }
					end = put(t, s, node(&end, fmt.Sprint(i), string(b)))[0].ID
					if i % 10 == 0 { mu.Lock(); ids = append(ids, end); mu.Unlock() }
					total++
				}
			})
		}
		wg.Wait()
		d := time.Since(start)
		st, _ := s.Stats(context.Background(), testNamespace)
		fmt.Printf("%d nodes in %v: %.0f/s, %d message bytes, %d disk bytes, heap %d MB\n", st.Nodes, d, float64(st.Nodes)/d.Seconds(), st.MessageBytes, st.DiskBytes, heap())
		f, _ := os.Create("/tmp/zzids")
		for _, id := range ids { fmt.Fprintln(f, id) }
		f.Close()
		os.Exit(3)
	}
	f, _ := os.Open("/tmp/zzids")
	for { var h string; if _, err := fmt.Fscanln(f, &h); err != nil { break }; id, _ := chainstore.ParseID(h); ids = append(ids, id) }
	start := time.Now()
	s, err := Open(dir, Options{})
	if err != nil { t.Fatal(err) }
	fmt.Printf("open %v heap %d MB\n", time.Since(start), heap())
	for range 3 {
		start = time.Now()
		for range 2000 {
			readFrom(t, s, ids[rand.IntN(len(ids))], 1<<31)
		}
		fmt.Printf("chain: %v each, heap %d MB\n", time.Since(start)/2000, heap())
	}
	start = time.Now()
	mustBeClean(t, s)
	fmt.Printf("verify %v heap %d\n", time.Since(start), heap())
	s.Close()
}
func heap() uint64 { runtime.GC(); var m runtime.MemStats; runtime.ReadMemStats(&m); return m.HeapAlloc>>20 }
