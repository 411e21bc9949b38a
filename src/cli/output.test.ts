import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import {
  formatKeyValues,
  formatTable,
  hasColor,
  Output,
  readLanguage,
  relativeTime,
  render,
  styled,
} from './output.ts';

const TERMINAL = { isTerminal: true, hasColor: true };

describe('has color', () => {
  test('colours: FORCE_COLOR takes precedence over NO_COLOR, and both over the terminal', () => {
    const terminal = { isTTY: true, hasColors: () => true } as const;
    assert.equal(hasColor(terminal, {}), true);
    assert.equal(hasColor({}, {}), false);
    assert.equal(hasColor({ isTTY: true, hasColors: () => false }, {}), false, 'TERM=dumb');
    assert.equal(hasColor(terminal, { NO_COLOR: '1' }), false);
    assert.equal(hasColor(terminal, { NO_COLOR: '' }), true, 'no-color.org: empty counts as absent');
    assert.equal(hasColor({}, { FORCE_COLOR: '1', NO_COLOR: '1' }), true);
    assert.equal(hasColor(terminal, { FORCE_COLOR: '0' }), false);
  });
});

test('the language is that of messages in the locale', () => {
  assert.equal(readLanguage({ LANG: 'zh_CN.UTF-8' }), 'zh-CN');
  assert.equal(readLanguage({ LANG: 'zh_CN.UTF-8', LC_MESSAGES: 'en_US.UTF-8' }), 'en');
  assert.equal(readLanguage({ LC_ALL: 'zh_CN.UTF-8', LC_MESSAGES: 'en_US.UTF-8' }), 'zh-CN');
  assert.equal(readLanguage({}), 'en');
});

test('a status line never exceeds a row of the terminal, because only its last row would be overwritten', (context) => {
  const { stderr } = process;
  const before = Object.getOwnPropertyDescriptors(stderr);
  const shown: string[] = [];
  context.mock.method(stderr, 'write', (text: string) => shown.push(text));
  const setTerminal = (columns: number) =>
    Object.defineProperties(stderr, {
      isTTY: { value: true, configurable: true },
      columns: { value: columns, configurable: true },
    });
  try {
    const line = styled('active', '正在生成 in progress\n  █████ about 2 minutes left');
    for (const [columns, expected] of [
      [40, '正在生成 in progress   █████ about 2 mi'],
      [10, '正在生成 '],
      [0, '正在生成 in progress   █████ about 2 minutes left'],
    ] as const) {
      setTerminal(columns);
      new Output({ json: false, quiet: false }).status(line);
      assert.equal(stripVTControlCharacters(shown.splice(0).join('')).slice(1), expected);
    }
  } finally {
    for (const name of ['isTTY', 'columns'] as const) {
      Reflect.deleteProperty(stderr, name);
      if (before[name] !== undefined) Object.defineProperty(stderr, name, before[name]);
    }
  }
});

test('a terminal that cannot erase lines gets the changes of a status only', (context) => {
  const { stderr } = process;
  const isTerminal = stderr.isTTY;
  const { TERM } = process.env;
  const shown: string[] = [];
  context.mock.method(stderr, 'write', (text: string) => shown.push(text));
  stderr.isTTY = true;
  process.env.TERM = 'dumb';
  try {
    const output = new Output({ json: false, quiet: false });
    for (const received of [1, 2]) output.status(`downloading ${received} KB`, 'downloading');
    output.clearStatus();
    assert.deepEqual(shown, ['downloading\n']);
  } finally {
    stderr.isTTY = isTerminal;
    if (TERM === undefined) delete process.env.TERM;
    else process.env.TERM = TERM;
  }
});

describe('render output text', () => {
  const PIPE = { isTerminal: false, hasColor: false };

  test('aligns tables on a terminal, colours and wide letters included, and separates columns by tabs in a pipe', () => {
    const table = formatTable(
      ['ID', 'NAME', 'STATE'],
      [
        ['1', '视频', styled('good', 'works')],
        ['22', 'a\tb', styled('bad', 'failed')],
      ],
    );
    assert.equal(
      stripVTControlCharacters(render(table, TERMINAL)),
      'ID  NAME  STATE\n1   视频  works\n22  a b   failed',
    );
    assert.ok(render(table, TERMINAL).includes('\u001b[32mworks\u001b[39m'));
    assert.equal(render(table, PIPE), '1\t视频\tworks\n22\ta b\tfailed');
  });

  test('leaves out columns without contents on a terminal, but not in a pipe, whose columns programs count', () => {
    const table = formatTable(
      ['TASK', 'PROMPT', 'REASON'],
      [
        ['task_1', '', 'x'],
        ['task_2', '', ''],
      ],
    );
    assert.equal(stripVTControlCharacters(render(table, TERMINAL)), 'TASK    REASON\ntask_1  x\ntask_2');
    assert.equal(render(table, PIPE), 'task_1\t\tx\ntask_2\t\t');
  });

  test('escapes cursor movement and colours in text of other users', () => {
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

  test('omits values without a text, and prints exact times in a pipe', () => {
    assert.equal(render(formatKeyValues({ One: '1', Two: undefined, Three: '' }), PIPE), 'One\t1');
    assert.equal(render(relativeTime(1_700_000_000), PIPE), '2023-11-14T22:13:20Z');
    assert.match(render(relativeTime(1_700_000_000), TERMINAL), /days ago$/);
  });
});
