import { setTimeout as delay } from 'node:timers/promises';
import { Gauge, type Registry } from '@prometheus-io/client';

/** One value of a metric with its labels. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A gauge that is read when the metrics are requested. */
export interface OnDemandGauge {
  /** Without the prefix. */
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** All values of now. */
  read(): readonly Sample[] | Promise<readonly Sample[]>;
  /** Shown where the read fails or takes longer than two seconds; default no value at all, never an old one. */
  readonly otherwise?: readonly Sample[];
}

/** A page of metrics must come although the database hangs: it is most needed then. */
const READ_TIMEOUT_MS = 2_000;

/** Adds the metric to a registry. */
export function addGauge(
  registry: Registry,
  prefix: string,
  { name, help, labelNames = [], read, otherwise = [] }: OnDemandGauge,
): void {
  new Gauge({
    name: prefix + name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    async collect() {
      const samples = await readInTime(read, otherwise);
      this.reset();
      // An unlabelled gauge shows 0 once reset; it has no value where nothing could be read.
      if (labelNames.length === 0 && samples.length === 0) this.remove();
      for (const { labels = {}, value } of samples) this.set(labels, value);
    },
  });
}

async function readInTime(read: OnDemandGauge['read'], otherwise: readonly Sample[]): Promise<readonly Sample[]> {
  const late = new AbortController();
  const timeout = delay(READ_TIMEOUT_MS, otherwise, { signal: late.signal, ref: false }).catch(() => otherwise);
  try {
    return await Promise.race([read(), timeout]);
  } catch {
    return otherwise;
  } finally {
    late.abort();
  }
}

/** The value of a figure that may not be known. */
export const toSamples = (value: number | undefined): readonly Sample[] => (value === undefined ? [] : [{ value }]);
