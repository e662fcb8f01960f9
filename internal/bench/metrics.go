package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Metrics of transcriptd: what its engine did so far.
const (
	engineGets  = "transcriptd_store_gets_total"
	engineSeeks = "transcriptd_store_seeks_total"
	engineNexts = "transcriptd_store_nexts_total"
	engineSets  = "transcriptd_store_sets_total"
)

// metrics are the metrics of a transcriptd in a process of its own, by name, with labels as they stand there. errNotOurs.
func (s *server) metrics(ctx context.Context) (values map[string]float64, err error) {
	if s.process == nil {
		return nil, errNotOurs
	}
	defer s.e.dog.await()()
	values = map[string]float64{}
	err = get(ctx, s.process.admin+"/metrics", func(answer io.Reader) error {
		lines := bufio.NewScanner(answer)
		for lines.Scan() {
			line := lines.Text()
			at := strings.LastIndexByte(line, ' ')
			if at < 0 || strings.HasPrefix(line, "#") {
				continue
			}
			var err error
			if values[line[:at]], err = strconv.ParseFloat(line[at+1:], 64); err != nil {
				return fmt.Errorf("transcriptd's metric %s: %w", line[:at], err)
			}
		}
		return lines.Err()
	})
	return values, err
}

// grown is what metrics have grown by while f ran, which must be there.
func (s *server) grown(ctx context.Context, names []string, f func() error) ([]float64, error) {
	before, err := s.metrics(ctx)
	if err != nil {
		return nil, err
	}
	if err := f(); err != nil {
		return nil, err
	}
	after, err := s.metrics(ctx)
	if err != nil {
		return nil, err
	}
	by := make([]float64, len(names))
	for i, name := range names {
		if _, ok := after[name]; !ok {
			return nil, fmt.Errorf("transcriptd has no metric %s", name)
		}
		by[i] = after[name] - before[name]
	}
	return by, nil
}
