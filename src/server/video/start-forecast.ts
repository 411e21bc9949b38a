/** What decides when the waiting videos of a lane start. All times are in milliseconds. */
export interface LaneState {
  /** Videos that may run at once. */
  readonly places: number;
  /** How long each running video has been running. */
  readonly ages: readonly number[];
  /** How long recent videos ran, from start to end; empty where none is known. */
  readonly durations: readonly number[];
  /** Number of waiting videos to forecast, the first to start first. */
  readonly waiting: number;
}

/** Milliseconds until the start of a waiting video: half start earlier than `p50`, nine in ten earlier than `p90`. */
export interface StartForecast {
  readonly p50: number;
  readonly p90: number;
}

const RUNS = 200;
/** Starts that are simulated; later ones follow from the rate at which places become free. */
const SIMULATED = 300;
/** Assumed where no video has ended yet, in milliseconds: the range of the vendors' documented times. */
const UNKNOWN_DURATIONS = [30, 60, 90, 120, 180, 300].map((seconds) => seconds * 1_000);
/** Normal quantile of 0.9. */
const Z90 = 1.2816;

/**
 * Forecasts the starts of a lane's waiting videos, in order. Simulates the lane {@link RUNS} times with durations drawn
 * from those observed; each run draws its own sample of them first, so that few observations give a wide forecast.
 *
 * @param random uniform numbers in [0, 1)
 */
export function forecastStarts(state: LaneState, random: () => number = Math.random): readonly StartForecast[] {
  const simulated = Math.min(state.waiting, SIMULATED);
  if (simulated === 0) return [];
  const durations = state.durations.length > 0 ? state.durations : UNKNOWN_DURATIONS;
  const starts: number[][] = Array.from({ length: simulated }, () => []);
  for (let run = 0; run < RUNS; run++) {
    const sample = durations.map(() => pick(durations, random));
    const ends = state.ages.slice(0, state.places).map((age) => remaining(sample, age, random));
    while (ends.length < state.places) ends.push(0);
    const free = new MinHeap(ends);
    for (const times of starts) {
      const at = free.min();
      times.push(at);
      free.replaceMin(at + pick(sample, random));
    }
  }
  const forecasts = starts.map(toForecast);
  return [...forecasts, ...extrapolate(forecasts, durations, state)];
}

const pick = (values: readonly number[], random: () => number): number =>
  values[Math.floor(random() * values.length)] ?? 0;

/** The rest of a video that has run for `age`: a longer duration of the sample, or half as long again. */
function remaining(sample: readonly number[], age: number, random: () => number): number {
  const longer = sample.filter((duration) => duration > age);
  return longer.length === 0 ? (age / 2) * random() : pick(longer, random) - age;
}

function toForecast(times: number[]): StartForecast {
  const sorted = times.toSorted((one, other) => one - other);
  const quantile = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length))] ?? 0;
  return { p50: quantile(0.5), p90: quantile(0.9) };
}

/** Starts beyond the simulated ones: a sum of many durations is close to normal. */
function extrapolate(
  forecasts: readonly StartForecast[],
  durations: readonly number[],
  { places, waiting }: LaneState,
): StartForecast[] {
  const last = forecasts.at(-1);
  if (last === undefined) return [];
  const mean = durations.reduce((sum, each) => sum + each, 0) / durations.length;
  const variance = durations.reduce((sum, each) => sum + (each - mean) ** 2, 0) / durations.length;
  const spread = last.p90 - last.p50;
  return Array.from({ length: waiting - forecasts.length }, (_, index) => {
    const more = index + 1;
    const p50 = last.p50 + (more * mean) / places;
    // The mean itself is only known from the sample, which widens the forecast in proportion to the distance.
    const own = (Z90 ** 2 * more * variance) / places ** 2;
    const uncertain = (Z90 * (more / places)) ** 2 * (variance / durations.length);
    return { p50, p90: p50 + Math.sqrt(spread ** 2 + own + uncertain) };
  });
}

/** A binary heap of numbers. */
class MinHeap {
  readonly #values: number[];
  constructor(values: readonly number[]) {
    this.#values = values.toSorted((one, other) => one - other);
  }

  min(): number {
    return this.#values[0] ?? 0;
  }

  /** Replaces the smallest number. */
  replaceMin(value: number): void {
    const values = this.#values;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const child = (values[left + 1] ?? Infinity) < (values[left] ?? Infinity) ? left + 1 : left;
      const smaller = values[child];
      if (smaller === undefined || smaller >= value) break;
      values[index] = smaller;
      index = child;
    }
    values[index] = value;
  }
}
