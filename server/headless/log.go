package headless

import (
	"fmt"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// openLog returns the log: for people on standard error, from quiet upwards unless --log-level says
// otherwise, and as JSON in the file of --log. end writes what is pending and closes the file.
func (f *Flags) openLog(quiet zapcore.Level) (log *zap.Logger, end func(), err error) {
	fileLevel := zapcore.InfoLevel
	if f.logLevel != "" {
		level, err := zapcore.ParseLevel(f.logLevel)
		if err != nil {
			return nil, nil, usageErrorf("--log-level: there is no level %q; use debug, info, warn or error", f.logLevel)
		}
		quiet, fileLevel = level, level
	}
	console := zap.NewDevelopmentEncoderConfig()
	cores := []zapcore.Core{zapcore.NewCore(zapcore.NewConsoleEncoder(console), zapcore.Lock(os.Stderr), quiet)}
	end = func() {}
	if f.log != "" {
		file, err := os.OpenFile(f.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("opening the log: %w", err)
		}
		cores = append(cores, zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(file), fileLevel))
		end = func() { _ = file.Close() } // there is nowhere left to say that it failed
	}
	return zap.New(zapcore.NewTee(cores...)), end, nil
}
