package logs_test

import (
	"os"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.FewerChecks(30)
	testenv.Parallel(8)
	os.Exit(m.Run())
}
