import type { Metric, Registry } from '@prometheus-io/client';

/** What is counted of one set of labels. */
export class HistogramSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.#counts = Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let index = 0;
    while (index < this.#bounds.length && value > (this.#bounds[index] ?? 0)) index++;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += value;
  }

  /** As they are shown: each bucket has all that is not above its bound. */
  samples(name: string): HistogramSample[] {
    const { labels } = this;
    let count = 0;
    const buckets = this.#counts.map((inBucket, index) => {
      count += inBucket;
      return { labels: { le: this.#bounds[index] ?? '+Inf', ...labels }, value: count, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels, value: this.#sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ];
  }
}

interface HistogramSample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName: string;
}

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds, included, upwards. */
  readonly buckets: readonly number[];
}

/**
 * A histogram whose series are found by those who count, once: the library's own writes the labels of every value into a text to
 * find its series, which costs a model call as much as looking up its key.
 */
export class SeriesHistogram {
  readonly #options: HistogramOptions;
  readonly #series: HistogramSeries[] = [];

  constructor(options: HistogramOptions, registry: Registry) {
    this.#options = options;
    const { name, help } = options;
    const get = async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: this.#series.flatMap((each) => each.samples(name)),
    });
    // What the registry calls of a metric; its type names classes of the library alone.
    registry.registerMetric({ name, help, type: 'histogram', get } as unknown as Metric<string>);
  }

  /** A new series. Each set of labels may have one only. */
  series(labels: Readonly<Record<string, string>>): HistogramSeries {
    const series = new HistogramSeries(labels, this.#options.buckets);
    this.#series.push(series);
    return series;
  }
}
