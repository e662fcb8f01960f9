package providerjson_test

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
)

func read(t *testing.T, text string) *providerjson.Value {
	t.Helper()
	v, err := providerjson.Read([]byte(text), "doc", &providerjson.Report{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestReadKeepsOrderSpellingAndText(t *testing.T) {
	v := read(t, ` {"z" : 1.0, "\u0061":["\u00e9\ud83d\ude42\/\n", true, null , {} ]} `)
	if len(v.Members) != 2 || v.Members[0].Name != "z" || v.Members[1].Name != "a" {
		t.Fatalf("members %v", v.Members)
	}
	if got := string(v.Member("z").Source); got != "1.0" {
		t.Errorf("number %s", got)
	}
	items := v.Member("a").Items
	if len(items) != 4 || items[0].Text != "é🙂/\n" || !items[1].True() || items[2].Kind != providerjson.Null {
		t.Errorf("items %v", items)
	}
	if got := items[3].Path(); got != "doc.a[3]" {
		t.Errorf("path %s", got)
	}
	if v.Member("absent") != nil || items[0].Member("z") != nil {
		t.Error("members that are not there")
	}
}

func TestReadReportsEachStringWithLoneSurrogates(t *testing.T) {
	var report providerjson.Report
	v, err := providerjson.Read([]byte(`["\ud83d\ud83d\ude42","\ude42\ud83d","\ufffd",{"\udc00":"\\ud800"}]`), "doc", &report)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"\ufffd🙂", "\ufffd\ufffd", "\ufffd"} {
		if got := v.Items[i].Text; got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
	want := []providerjson.Change{
		{Path: "doc[0]", Kind: providerjson.Surrogates, Count: 1},
		{Path: "doc[1]", Kind: providerjson.Surrogates, Count: 2},
		{Path: "doc[3]", Kind: providerjson.Surrogates, Count: 1},
	}
	for i := range want {
		if i >= len(report.Changes) || report.Changes[i] != want[i] {
			t.Fatalf("got %v, want %v", report.Changes, want)
		}
	}
}

// Read takes what encoding/json takes, less what it is stricter about.
func TestReadAgreesWithTheStandardLibrary(t *testing.T) {
	texts := rapid.OneOf(
		convtest.JSON(3),
		rapid.StringMatching(`[\[\]{}",:\\ud80ef0-9.+\- tnrals]{0,12}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		v, err := providerjson.Read([]byte(text), "", &providerjson.Report{})
		if valid := json.Valid([]byte(text)); !valid && err == nil {
			t.Fatal("took what is not JSON")
		} else if valid && err != nil {
			var broken *providerjson.Error
			if !errors.As(err, &broken) || broken.Rule != "stands twice in its object" {
				t.Fatal(err)
			}
		}
		if err == nil && !convtest.Equal([]byte(text), v.Source) {
			t.Fatalf("source is %s", v.Source)
		}
	})
}

func TestReadRefusesWhatIsNotUTF8(t *testing.T) {
	for _, text := range []string{"\"\xff\"", "\"\\n\xff\"", "{\"\xed\xa0\x80\":1}"} {
		if utf8.ValidString(text) {
			t.Fatalf("%q is valid", text)
		}
		if _, err := providerjson.Read([]byte(text), "", &providerjson.Report{}); !errors.Is(err, providerjson.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTakerLeavesTheRest(t *testing.T) {
	taker := providerjson.Take(read(t, `{"b":{"x":1,"url":"u"}, "id":null,"a":"A","c":{"url":"v"} }`))
	taker.Sub("b").Take("url")
	taker.Sub("c").Take("url")
	if id, err := taker.String("id"); id != nil || err != nil {
		t.Errorf("%v, %v", id, err)
	}
	if a, err := taker.String("a"); a == nil || *a != "A" || err != nil {
		t.Errorf("%v, %v", a, err)
	}
	if _, err := taker.String("b"); !errors.Is(err, providerjson.ErrInvalid) {
		t.Error(err)
	}
	extras, err := taker.Extras()
	if want := `{"b":{"x":1},"id":null}`; err != nil || extras != want {
		t.Errorf("%s, %v, want %s", extras, err, want)
	}
}

func TestMergeKeepsTheOrderOfExtras(t *testing.T) {
	n := providerjson.NewObject().
		Set("type", providerjson.Text("file")).
		Set("file", providerjson.NewObject().Set("data", providerjson.Text("D")))
	n.Merge(read(t, `{"z":1.0,"file":{"name":"<n>","data":"other"},"a":{}}`))
	want := `{"type":"file","z":1.0,"file":{"name":"<n>","data":"D"},"a":{}}`
	if got := string(n.Append(nil)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDataURL(t *testing.T) {
	for url, ok := range map[string]bool{
		"data:image/png;base64,AAAA":           true,
		"data:image/svg+xml;base64,":           true,
		"data:image/png;base64,AA==":           true,
		"data:image/png;base64,AA":             false,
		"data:image/png;base64,AB==":           false,
		"data:image/png;base64,AA\n==":         false,
		"data:image/png,AAAA":                  false,
		"data:image/PNG;base64,AAAA":           false,
		"data:image/png;x=y;base64,AAAA":       false,
		"data:;base64,AAAA":                    false,
		"https://example.com/a;base64,AAAA":    false,
		"data:image/png;base64,AAAA;base64,AA": false,
	} {
		mediaType, data, got := providerjson.DataURL(url)
		if got != ok {
			t.Errorf("%s: %t", url, got)
		}
		if got && providerjson.MakeDataURL(mediaType, data) != url {
			t.Errorf("%s became %s", url, providerjson.MakeDataURL(mediaType, data))
		}
	}
}

func TestPlaceholderShowsOnlyNamesOfKinds(t *testing.T) {
	for kind, want := range map[string]string{
		"image/png": "[left out: image/png]", "tool_reference": "[left out: tool_reference]",
		"": "[left out: a part]", "A secret": "[left out: a part]",
	} {
		if got := providerjson.Placeholder(kind); got != want {
			t.Errorf("%q: %s", kind, got)
		}
	}
}
