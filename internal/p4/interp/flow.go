package interp

import (
	"math/big"
	"time"
)

// flows is a flow_state: at most size values by key, each as long as it is used.
type flows struct {
	size  int
	byKey map[string]*flowValue
}

type flowValue struct {
	value *big.Int
	used  time.Duration
	life  time.Duration // how long it may lie unused
}

func (f *flowValue) alive(now time.Duration) bool { return now-f.used <= f.life }

func (fs *flows) read(key string, now time.Duration) *big.Int {
	f := fs.byKey[key]
	if f == nil || !f.alive(now) {
		return zero
	}
	f.used = now
	return f.value
}

func (fs *flows) write(key string, v *big.Int, life, now time.Duration) {
	if life == 0 || v.Sign() == 0 {
		delete(fs.byKey, key)
		return
	}
	if fs.byKey[key] == nil && len(fs.byKey) >= fs.size {
		oldest := ""
		for k, f := range fs.byKey {
			if o := fs.byKey[oldest]; o == nil || f.used < o.used || f.used == o.used && k < oldest {
				oldest = k
			}
		}
		delete(fs.byKey, oldest)
	}
	fs.byKey[key] = &flowValue{value: v, used: now, life: life}
}
