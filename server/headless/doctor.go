package headless

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"

	"nimlet/server"
)

func doctorCommand(flags *Flags) *cobra.Command {
	test := false
	c := &cobra.Command{
		Use:   "doctor [--test]",
		Short: "Tell how nimlet would work in this folder, and what is wrong",
		Long: `Tell how nimlet would work in this folder: where each setting comes from, which model answers and
whether there is a key for it (never the key), trust, instructions, skills and prompt templates, and what
is wrong with any of them. With --test one small request is made.

Exit status: 0 all is well, 1 something should be mended.`,
		Args: between(0, 0, "no arguments"),
		RunE: Action(func(c *cobra.Command, _ []string) error { return doctor(c, flags, test) }),
	}
	flags.Register(c)
	c.Flags().BoolVar(&test, "test", false, "make one small model request")
	return c
}

func doctor(c *cobra.Command, flags *Flags, test bool) error {
	options, end, err := flags.Options(c, zapcore.ErrorLevel)
	if err != nil {
		return err
	}
	defer end()
	dir, err := folder(nil)
	if err != nil {
		return err
	}
	lines, healthy := server.New(options).Doctor(c.Context(), dir, test)
	for _, line := range lines {
		fmt.Fprintln(c.OutOrStdout(), line)
	}
	if !healthy {
		return &failure{exitFailed, errors.New("something should be mended: see the lines that begin with \"problem\"")}
	}
	return nil
}
