import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { FAILURES_EN } from '../contract/messages/failures-en.ts';
import { FAILURES_ZH_CN } from '../contract/messages/failures-zh-cn.ts';
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
import { OUTPUT_ZH_CN, translateOutput } from './translate-output.ts';

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

test('texts for people are translated, and so are texts and units in them', () => {
  assert.equal(translateOutput("The vendor's message: Task failed."), '供应商的消息：Task failed.');
  assert.equal(
    translateOutput('The connection to the service was lost. Trying again …'),
    '与服务的连接已中断。 正在重试…',
  );
  assert.equal(translateOutput('It cost 0.28 credits; you waited 45 seconds.'), '费用 0.28 积分，等待 45 秒。');
  assert.equal(
    translateOutput('The task continues. Wait for it with "reelgate video wait task_1".'),
    '任务仍在继续，可用“reelgate video wait task_1”等待。',
  );
  const failure = FAILURES_EN.prompt_refused;
  assert.equal(
    translateOutput(`${failure.advice}\nIt was not charged.`),
    `${FAILURES_ZH_CN.prompt_refused.advice}\n未扣费。`,
  );
  assert.equal(translateOutput('Saved a.mp4 (12 KB).'), '已保存 a.mp4 (12 KB)。');
  assert.equal(translateOutput('Something else.'), 'Something else.');
  for (const [english, chinese] of OUTPUT_ZH_CN)
    assert.equal(chinese.split('#').length, english.split('#').length, `${english}: the same values`);
});

test('headers of columns and relative times are translated', () => {
  const commands = join(import.meta.dirname, 'commands');
  const heads = globSync('*.ts', { cwd: commands }).flatMap((path) =>
    [...readFileSync(join(commands, path), 'utf8').matchAll(/formatTable\(\s*\[([^\]]*)\]/g)].flatMap(([, head = '']) =>
      [...head.matchAll(/'([A-Z][A-Z ]+)'/g)].map(([, name = '']) => name),
    ),
  );
  assert.ok(heads.length > 60);
  for (const name of heads) assert.ok(name === 'ID' || name === 'URL' || translateOutput(name) !== name, name);
  Output.translate = translateOutput;
  try {
    const table = stripVTControlCharacters(render(formatTable(['TASK', 'STATUS'], [['task_1', 'x']]), TERMINAL));
    assert.equal(table, '任务    状态\ntask_1  x');
    assert.match(render(relativeTime(Date.now() / 1000 - 180), TERMINAL), /^3 分钟前$/);
  } finally {
    Output.translate = (text) => text;
  }
});

test('every translated text is one that a command prints', () => {
  const words = (text: string): string => text.replace(/\s+/g, ' ').trim();
  const sources = ['.', '../sdk'].flatMap((folder) =>
    globSync('**/*.ts', { cwd: join(import.meta.dirname, folder) })
      .filter((path) => !path.startsWith('translate-') && !path.includes('.test.'))
      .map((path) => readFileSync(join(import.meta.dirname, folder, path), 'utf8')),
  );
  const text = words(sources.join('\n'));
  for (const [english] of OUTPUT_ZH_CN)
    for (const part of english
      .split('#')
      .map(words)
      .filter((each) => each.length > 12))
      assert.ok(text.includes(part.replace(/["']$/, '')), english);
});
