import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { hasColor } from './has-color.ts';
import { formatKeyValues, formatTable, relativeTime, render, styled } from './render-output-text.ts';
import { formatProgressLine } from './video-progress-line.ts';

const TERMINAL = { isTerminal: true, hasColor: true };
const PIPE = { isTerminal: false, hasColor: false };

test('a table is aligned on a terminal, colours and wide letters included, and tab-separated rows in a pipe', () => {
  const table = formatTable(
    ['ID', 'NAME', 'STATE'],
    [
      ['1', '视频', styled('good', 'works')],
      ['22', 'a\tb', styled('bad', 'failed')],
    ],
  );
  assert.equal(stripVTControlCharacters(render(table, TERMINAL)), 'ID  NAME  STATE\n1   视频  works\n22  a b   failed');
  assert.ok(render(table, TERMINAL).includes('\u001b[32mworks\u001b[39m'));
  assert.equal(render(table, PIPE), '1\t视频\tworks\n22\ta b\tfailed');
});

test('text of others moves no cursor and colours nothing, in any form', () => {
  for (const target of [TERMINAL, PIPE]) {
    const hostile = '\u001b[2Jx\u202e';
    const shown = [
      render(hostile, target),
      render(formatTable(['A'], [[hostile]]), target),
      render(formatKeyValues({ a: hostile }), target),
      render(styled('good', hostile), target),
    ].join('');
    assert.ok(!shown.includes('\u001b[2J') && !shown.includes('\u202e'));
  }
});

test('values without a text are left out; times are exact in a pipe', () => {
  assert.equal(render(formatKeyValues({ One: '1', Two: undefined, Three: '' }), PIPE), 'One\t1');
  assert.equal(render(relativeTime(1_700_000_000), PIPE), '2023-11-14T22:13:20Z');
  assert.match(render(relativeTime(1_700_000_000), TERMINAL), /days ago$/);
});

test('colours: FORCE_COLOR decides, then NO_COLOR, then the terminal', () => {
  const terminal = { isTTY: true, hasColors: () => true } as const;
  assert.equal(hasColor(terminal, {}), true);
  assert.equal(hasColor({}, {}), false);
  assert.equal(hasColor({ isTTY: true, hasColors: () => false }, {}), false, 'TERM=dumb');
  assert.equal(hasColor(terminal, { NO_COLOR: '1' }), false);
  assert.equal(hasColor(terminal, { NO_COLOR: '' }), true, 'no-color.org: empty counts as absent');
  assert.equal(hasColor({}, { FORCE_COLOR: '1', NO_COLOR: '1' }), true);
  assert.equal(hasColor(terminal, { FORCE_COLOR: '0' }), false);
});

test('the line of a wait shows measured times, and no percent that the vendor did not measure', () => {
  const typical = { model: 'm', p50_seconds: 60, p90_seconds: 120, samples: 20 };
  const video = { id: 'v', status: 'in_progress', progress: 30, model: 'm', created_at: 0 } as const;
  const plain = (elapsed: number, known: typeof typical | undefined, progress = 30) =>
    render(formatProgressLine({ ...video, progress }, elapsed, known), { isTerminal: true, hasColor: false });
  assert.equal(plain(30, typical), 'in progress  █████░░░░░░░░░░░░░░░  0:30  about 30 seconds left');
  assert.match(plain(90, typical), /1:30 {2}almost done$/);
  assert.match(plain(180, typical), /█{19}░ {2}3:00 {2}slower than usual$/);
  assert.equal(plain(65, undefined), 'in progress  1:05');
  assert.equal(plain(5, undefined, 50), 'in progress 50%  ██████████░░░░░░░░░░  0:05');
});
