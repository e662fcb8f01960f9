package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	gitleaks "github.com/zricethezav/gitleaks/v8/config"
)

// rule is what a scanner knows of one form.
type rule struct {
	scanner, id string
	source      string // of the expression
	expression  *regexp.Regexp
	group       int // of the expression that is the secret; 0: the first that matches, else all
}

// maker is the first word of the rule's id, which scanners give the name of who makes the tokens.
func (r *rule) maker() string {
	name, _, _ := strings.Cut(r.id, "-")
	return name
}

// secret gives what the rule takes for one in a text, or nothing.
func (r *rule) secret(text string) string {
	m := r.expression.FindStringSubmatch(text)
	if m == nil || r.group > 0 {
		return at(m, r.group)
	}
	for _, group := range m[1:] {
		if group != "" {
			return group
		}
	}
	return m[0]
}

func at(groups []string, i int) string {
	if i >= len(groups) {
		return ""
	}
	return groups[i]
}

// known gives the rules of gitleaks, then those of the files.
func known(files []string) (rules []*rule, err error) {
	if rules, err = parse("gitleaks", gitleaks.DefaultConfig); err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		more, err := parse(file, string(text))
		if err != nil {
			return nil, err
		}
		rules = append(rules, more...)
	}
	return rules, nil
}

// parse reads rules in the form of gitleaks.toml. Rules for paths of files have no expression, and are left out.
func parse(scanner, text string) (rules []*rule, err error) {
	var config struct {
		Rules []struct {
			ID          string `toml:"id"`
			Regex       string `toml:"regex"`
			SecretGroup int    `toml:"secretGroup"`
		} `toml:"rules"`
	}
	if err := toml.Unmarshal([]byte(text), &config); err != nil {
		return nil, fmt.Errorf("rules of %s: %w", scanner, err)
	}
	for _, r := range config.Rules {
		if r.Regex == "" {
			continue
		}
		expression, err := regexp.Compile(r.Regex)
		if err != nil {
			return nil, fmt.Errorf("rule %s of %s: %w", r.ID, scanner, err)
		}
		rules = append(rules, &rule{scanner: scanner, id: r.ID, source: r.Regex, expression: expression, group: r.SecretGroup})
	}
	return rules, nil
}
