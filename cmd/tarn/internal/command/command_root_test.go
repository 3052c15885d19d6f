package command_test

import (
	"strings"
	"testing"
)

// Ensures that help is printed where nothing was asked for, and names the subcommands.
func TestExecute_Help(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"help"}} {
		r := run(t, args...)
		if r.code != 0 || r.err != "" || !strings.Contains(r.out, "watch ") || !strings.Contains(r.out, "version ") || !strings.Contains(r.out, "completion ") {
			t.Errorf("%q: code %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
}

// Ensures that a command that does not exist is one line and code 1.
func TestExecute_UnknownCommand(t *testing.T) {
	r := run(t, "wach", "pods")
	if want := "tarn: there is no command \"wach\"; see \"tarn --help\"\n"; r.code != 1 || r.err != want || r.out != "" {
		t.Errorf("code %d, %q", r.code, r.err)
	}
}

// Ensures that completion scripts are made, and that flags with fixed values offer them.
func TestExecute_Completion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := run(t, "completion", shell); r.code != 0 || !strings.Contains(r.out, "tarn") {
			t.Errorf("%s: code %d", shell, r.code)
		}
	}
	for _, c := range []struct{ flag, want string }{
		{"--output", "table\ndiff\njson\nyaml\nname\n:4\n"},
		{"--color", "auto\nalways\nnever\n:4\n"},
		{"--selector", ":4\n"},
		{"--field-selector", ":4\n"},
		{"--namespace", ":4\n"},
		{"--context", "one\ntwo\n:4\n"},
	} {
		if r := run(t, "__complete", "watch", "--kubeconfig", kubeconfig(t, "https://127.0.0.1:1"), c.flag, ""); r.out != c.want {
			t.Errorf("%s: %q", c.flag, r.out)
		}
	}
}
