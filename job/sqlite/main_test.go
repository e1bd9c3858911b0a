package sqlite_test

import (
	"os"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Parallel(8)
	testenv.FewerChecks(5)
	os.Exit(m.Run())
}
