package orchestration

import (
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/catena-nfv/catena/bench/harness"
)

// bars is one row of a chart: a platform on a backend.
type bars struct {
	name   string
	values []harness.Sample // by case
}

// colours that are told apart by those who do not see all colours, too (Okabe and Ito).
var colours = []color.Color{
	color.RGBA{213, 94, 0, 255}, color.RGBA{0, 114, 178, 255}, color.RGBA{230, 159, 0, 255},
	color.RGBA{86, 180, 233, 255}, color.RGBA{120, 120, 120, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{0, 0, 0, 255},
}

// plotAll draws the cases of each set into one PNG: BASE-usecases.png, -sfc.png, -grid.png.
func plotAll(base string, results []*Result) error {
	for _, set := range []string{"usecase", "sfc", "n"} {
		var names []string
		for _, c := range results[0].Cases {
			if strings.HasPrefix(c.Name, set) {
				names = append(names, c.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		var rows []bars
		for _, p := range Platforms {
			for _, r := range results {
				row := bars{name: string(p)}
				if len(results) > 1 {
					row.name = r.Backend + " " + row.name
				}
				measured := false
				for _, n := range names {
					s := harness.Sample(nil)
					for _, c := range r.Cases {
						if c.Name == n {
							s = c.Seconds[p]
						}
					}
					row.values = append(row.values, s)
					measured = measured || len(s) > 0
				}
				if measured {
					rows = append(rows, row)
				}
			}
		}
		file := base + "-" + map[string]string{"usecase": "usecases", "sfc": "sfc", "n": "grid"}[set] + ".png"
		if err := draw(file, names, rows); err != nil {
			return err
		}
	}
	return nil
}

// draw makes a chart of grouped bars: medians, with a line from one quartile to the other.
// Cases lie one unit apart, and the bars of one take 0.8 of it.
func draw(file string, names []string, rows []bars) error {
	p := plot.New()
	p.Y.Label.Text = "seconds until all is ACTIVE"
	p.Legend.Top, p.Legend.Left = true, true
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	p.Add(grid)
	width, top := 0.8/float64(len(rows)), 0.0
	for i, row := range rows {
		points := quartiles{}
		var rectangles []plotter.XYer
		for j, s := range row.values {
			if len(s) == 0 {
				continue
			}
			left := float64(j) - 0.4 + float64(i)*width
			low, high := s.Spread()
			m := s.Median()
			rectangles = append(rectangles, plotter.XYs{{X: left, Y: 0}, {X: left, Y: m}, {X: left + width, Y: m}, {X: left + width, Y: 0}})
			points.XYs = append(points.XYs, plotter.XY{X: left + width/2, Y: m})
			points.YErrors = append(points.YErrors, struct{ Low, High float64 }{m - low, high - m})
			top = max(top, high)
		}
		for k, r := range rectangles {
			bar, err := plotter.NewPolygon(r)
			if err != nil {
				return err
			}
			bar.Color, bar.LineStyle.Width = colours[i%len(colours)], 0
			p.Add(bar)
			if k == 0 {
				p.Legend.Add(row.name, bar)
			}
		}
		spread, err := plotter.NewYErrorBars(points)
		if err != nil {
			return err
		}
		p.Add(spread)
	}
	p.NominalX(names...)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/6, -1, -0.5
	p.X.Min, p.X.Max = -0.6, float64(len(names))-0.4
	legend := 1 + 0.06*float64(len(rows)) // room above the bars
	p.Y.Min, p.Y.Max = 0, top*legend
	return p.Save(vg.Points(90*float64(len(names))+120), vg.Points(360), file)
}

// quartiles are points with errors.
type quartiles struct {
	plotter.XYs
	plotter.YErrors
}
