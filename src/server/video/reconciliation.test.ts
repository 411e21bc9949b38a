import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareBills } from './reconciliation.ts';

const HOUR = 3_600_000;
const NOW = 200 * HOUR;
const UNIT = 1_000_000;

/** One reading per hour; `billed` and `settled` are functions of the hour's age. */
const readings = (hours: number, settled: (age: number) => number, billed: (age: number) => number | null) =>
  Array.from({ length: hours }, (_, index) => {
    const age = hours - index;
    const to = NOW - (age - 1) * HOUR;
    const units = billed(age);
    return {
      from_time: to - HOUR,
      to_time: to,
      settled_units: settled(age) * UNIT,
      billed_units: units === null ? null : units * UNIT,
    };
  });
const unexplained = (rows: Parameters<typeof compareBills>[0], skewHours: number) =>
  (compareBills(rows, NOW, skewHours * HOUR)?.unexplained ?? Number.NaN) / UNIT;

describe('comparing billed with settled units of an account', () => {
  it('reports no difference when the vendor billed exactly what was settled', () => {
    assert.equal(
      unexplained(
        readings(
          24,
          () => 10,
          () => 10,
        ),
        0,
      ),
      0,
    );
  });

  it('reports units the vendor billed in excess and units it did not bill', () => {
    assert.equal(
      unexplained(
        readings(
          24,
          () => 10,
          (age) => (age === 5 ? 110 : 10),
        ),
        0,
      ),
      100,
    );
    assert.equal(
      unexplained(
        readings(
          24,
          () => 10,
          (age) => (age === 5 ? 0 : 9),
        ),
        0,
      ),
      -(23 + 10),
    );
  });

  it('ignores rounding differences, and reports nothing before there is a figure', () => {
    assert.equal(
      unexplained(
        readings(
          24,
          () => 10,
          (age) => (age === 5 ? 12 : 10),
        ),
        0,
      ),
      0,
    );
    assert.equal(
      compareBills(
        readings(
          24,
          () => 10,
          () => null,
        ),
        NOW,
        0,
      ),
      undefined,
    );
    assert.equal(compareBills([], NOW, 0), undefined);
  });

  it('tolerates usage counted up to twelve hours early or late', () => {
    // A burst of videos thirty hours ago, which the vendor counted ten hours later or ten hours earlier.
    const burst = (at: number) => (age: number) => (age === at ? 30 : 0);
    assert.equal(unexplained(readings(96, burst(30), burst(20)), 12), 0);
    assert.equal(unexplained(readings(96, burst(30), burst(40)), 12), 0);
    assert.equal(unexplained(readings(96, burst(30), burst(20)), 0), 30);
  });

  it('finds a persistent difference behind usage that is counted late', () => {
    assert.ok(
      unexplained(
        readings(
          96,
          () => 10,
          () => 20,
        ),
        12,
      ) > 300,
    );
    assert.ok(
      unexplained(
        readings(
          96,
          () => 10,
          () => 0,
        ),
        12,
      ) < -100,
    );
  });

  it('expects no figure for a period in which the account was topped up', () => {
    assert.equal(
      unexplained(
        readings(
          24,
          () => 10,
          (age) => (age === 5 ? null : 10),
        ),
        0,
      ),
      0,
    );
  });
});
