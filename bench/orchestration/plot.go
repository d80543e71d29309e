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
func draw(file string, names []string, rows []bars) error {
	p := plot.New()
	p.Y.Label.Text = "seconds until all is ACTIVE"
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	width := vg.Points(70 / float64(len(rows)))
	for i, row := range rows {
		medians := make(plotter.Values, len(names))
		points := quartiles{}
		for j, s := range row.values {
			if len(s) == 0 {
				continue
			}
			low, high := s.Spread()
			medians[j] = s.Median()
			points.XYs = append(points.XYs, plotter.XY{X: float64(j), Y: medians[j]})
			points.YErrors = append(points.YErrors, struct{ Low, High float64 }{medians[j] - low, high - medians[j]})
		}
		chart, err := plotter.NewBarChart(medians, width)
		if err != nil {
			return err
		}
		chart.Color, chart.LineStyle.Width = colours[i%len(colours)], 0
		chart.Offset = width * vg.Length(float64(i)-float64(len(rows)-1)/2)
		p.Add(chart)
		p.Legend.Add(row.name, chart)
		errors, err := plotter.NewYErrorBars(points)
		if err != nil {
			return err
		}
		// Error bars have no offset of their own: 90 points lie between two cases.
		for k := range errors.XYs {
			errors.XYs[k].X += float64(chart.Offset) / pitch
		}
		p.Add(errors)
	}
	p.NominalX(names...)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/6, -1, -0.5
	return p.Save(vg.Points(pitch*float64(len(names))+120), vg.Points(360), file)
}

// pitch is how far apart two cases are, in points.
const pitch = 90

// quartiles are points with errors.
type quartiles struct {
	plotter.XYs
	plotter.YErrors
}
