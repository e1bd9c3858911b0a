package forward_test

import (
	"os"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.FewerChecks(20)
	os.Exit(m.Run())
}
