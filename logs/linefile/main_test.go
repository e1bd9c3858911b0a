package linefile

import (
	"os"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.FewerChecks(10)
	os.Exit(m.Run())
}
