import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseSync } from 'oxc-parser';
import { ROLES } from '../contract/account-fields.ts';
import { BATCH_STATUSES } from '../contract/batches.ts';
import { FAILURES_EN } from '../contract/messages/failures-en.ts';
import { FAILURES_ZH_CN } from '../contract/messages/failures-zh-cn.ts';
import { RECEIPT_LINES_ZH_CN } from '../contract/messages/prices-zh-cn.ts';
import { ORGANIZATION_ROLES } from '../contract/organization-roles.ts';
import { REQUEST_STATUSES } from '../contract/request-kinds.ts';
import { RECEIPT_OUTCOMES } from '../contract/request-log.ts';
import { OPENAI_STATUS } from '../contract/task-states.ts';
import { TICKET_STATUS } from '../contract/tickets.ts';
import { DELIVERY_STATUS } from '../contract/webhooks.ts';
import { FINDINGS_ZH_CN } from './findings-zh-cn.ts';
import {
  ENGLISH,
  formatKeyValues,
  formatTable,
  joinTexts,
  Output,
  phrase,
  relativeTime,
  render,
  word,
} from './output.ts';
import { PHRASES_ZH_CN } from './phrases-zh-cn.ts';
import { EPILOGUE } from './program.ts';
import { HELP_ZH_CN, translateUsageError } from './translate-help.ts';
import { CHINESE, OUTPUT_ZH_CN, translateOutput } from './translate-output.ts';

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

/** All nodes below a node, with the node around each. */
function* nodesOf(node: Node): Generator<readonly [node: Node, parent: Node]> {
  for (const each of Object.values(node).flat())
    if (isNode(each)) {
      yield [each, node];
      yield* nodesOf(each);
    }
}

/** Text of a literal with a mark for each value; undefined for any other node. */
function textOf(node: unknown, mark: string): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node.type !== 'TemplateLiteral') return undefined;
  return (node.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join(mark);
}

const calleeOf = ({ callee }: Node): string => {
  if (!isNode(callee)) return '';
  const name = callee.type === 'MemberExpression' ? (callee.property as Node).name : callee.name;
  return typeof name === 'string' ? name : '';
};

const isError = (node: Node): boolean => node.type === 'NewExpression' && calleeOf(node) === 'Error';

interface Found {
  /** Sentences: literals with a space that are neither help nor phrases. */
  readonly messages: Set<string>;
  /** Labels, heads of columns and phrases, with `#` for each value. */
  readonly phrases: Set<string>;
}

/** Calls whose texts are help, of which every text is compared with its table by program.test.ts. */
const HELP_CALLS = [
  'addHelpText',
  'showHelpAfterError',
  'repeatableOption',
  'exec',
  'description',
  'option',
  'requiredOption',
  'argument',
  'Option',
  'Argument',
];
/** The head of a column in a list of them. */
const HEAD = /^[A-Z]{2,}(?: [A-Z]+)*$/;
/** A text in words, unlike the paths, patterns and scripts among the literals. */
const WORDS = /^(?=.*[A-Za-z]{2} |.* [A-Za-z]{2})[^\n`]*$/s;

function collect(path: string, found: Found, isMeant: (parent: Node) => boolean = () => true): void {
  const { program, errors } = parseSync(path, readFileSync(path, 'utf8'));
  assert.deepEqual(errors, [], path);
  const skipped = new Set<unknown>();
  const skip = (node: unknown): void => {
    if (!isNode(node)) return;
    for (const each of [node, ...nodesOf(node).map(([inner]) => inner)]) skipped.add(each);
  };
  for (const [node, parent] of nodesOf(program as unknown as Node)) {
    if (skipped.has(node)) continue;
    if (node.type === 'ImportDeclaration' || node.type === 'ImportExpression') skip(node);
    if (node.type === 'TaggedTemplateExpression' && (node.tag as Node).name === 'phrase') {
      found.phrases.add(textOf(node.quasi, '#') ?? '');
      skipped.add(node.quasi);
    }
    if (node.type === 'CallExpression' || node.type === 'NewExpression') {
      const [name, [first]] = [calleeOf(node), node.arguments as Node[]] as const;
      if (HELP_CALLS.includes(name)) for (const each of node.arguments as Node[]) skip(each);
      if (name === 'word') for (const text of literalsOf(first)) found.phrases.add(text);
      if (name === 'formatTable') for (const text of literalsOf(first)) found.phrases.add(text);
      if (name === 'formatKeyValues' && first?.type === 'ObjectExpression')
        for (const { key, computed } of first.properties as Node[])
          if (isNode(key) && computed !== true) found.phrases.add(String(key.name ?? key.value));
      if (['word', 'formatTable'].includes(name)) skip(first);
    }
    const text = textOf(node, '7');
    const isKey = parent.type === 'Property' && parent.key === node;
    if (text !== undefined && !isKey && WORDS.test(text.trim()) && isMeant(parent)) found.messages.add(text);
    if (node.type === 'ArrayExpression') {
      const heads = (node.elements as Node[]).map((element) => textOf(element, '#') ?? '');
      if (isMeant(node) && heads.every((each) => HEAD.test(each))) for (const head of heads) found.phrases.add(head);
    }
  }
}

/** The texts that an expression can have, as far as they are literals. */
function literalsOf(node: Node | undefined): string[] {
  if (node === undefined) return [];
  const text = textOf(node, '#');
  if (text !== undefined) return [text].filter((each) => each !== '' && each !== '#');
  if (node.type === 'ConditionalExpression')
    return [node.consequent, node.alternate].flatMap((each) => literalsOf(each as Node));
  return node.type === 'ArrayExpression' ? (node.elements as Node[]).flatMap(literalsOf) : [];
}

const found: Found = { messages: new Set(), phrases: new Set() };
for (const name of globSync('**/*.ts', { cwd: import.meta.dirname }))
  if (!/\.test\.ts$|^translate-|^phrases-|^findings-|completion\.ts$/.test(name))
    collect(join(import.meta.dirname, name), found);

// Maintenance commands print what these modules find and throw.
const server = join(import.meta.dirname, '../server/commands');
for (const name of globSync('*.ts', { cwd: server, exclude: ['*.test.ts'] }))
  collect(join(server, name), found, name === 'doctor.ts' ? undefined : isError);

const quickstart = join(import.meta.dirname, '../../scripts/quickstart.ts');
collect(quickstart, found, (parent) => parent.type === 'CallExpression' && calleeOf(parent) === 'print');

const importer = join(import.meta.dirname, '../../importer');
collect(join(importer, 'report.ts'), found, () => false);
const findings: Found = { messages: new Set(), phrases: new Set() };
// The others hold prices and the texts of the report's page, which are phrases.
for (const name of globSync(['*.ts', 'mapping/*.ts'], { cwd: importer, exclude: ['*.test.ts', 'mapping/*.test.ts'] }))
  if (!/built-in-prices|^report\.ts$/.test(name)) collect(join(importer, name), findings);

/** Statements, parts of other texts and names among the importer's literals. */
const NO_FINDING =
  /^(?:select|from|where|sum|max|count|coalesce|order by|set |start transaction|version \+|ref not|'' as|\(|\[| )|^(?:is not|not like|case when|convert\(|7 and |one-api, first|new-api )|^import(?:ed)? |^import taken|^paid for a video|^(?:7 7|row 7|key 7|user_subscriptions 7|7: 7.*|an open amount|reelgate import|OpenAI compatible|Linux DO|Zhipu v4|Doubao video)$|^; only/;

/** Texts with a part that is one of a few words; the table has them whole. */
const COMPOSED: readonly string[] = [
  '7 is 7 there and 7 here7',
  'channel 7 was 7 since',
  'it tried the groups of the setting AutoGroups in turn7; 7',
];

test('everything an import finds has a Chinese text', () => {
  assert.ok(findings.messages.size > 150);
  assert.deepEqual(
    [...findings.messages].filter(
      (text) => !NO_FINDING.test(text) && !COMPOSED.includes(text) && translateOutput(text) === text,
    ),
    [],
    'src/cli/findings-zh-cn.ts',
  );
  for (const [english, chinese] of FINDINGS_ZH_CN)
    assert.equal(chinese.split('#').length, english.split('#').length, `${english}: the same values`);
  assert.equal(
    translateOutput("it used the group vip (prices × 0.8); here its owner's plan counts"),
    '原使用分组 vip（价格 × 0.8），此处以所有者的套餐为准',
  );
});

/** Literals with a space that are not printed as texts of the command line. */
const NOT_PRINTED: readonly string[] = ['Reelgate CLI on 7', '7 KB', 'HTTP 7', 'Bearer 7', '7 7'];

/** A line to type into a shell. */
const COMMAND = /^ +(?:curl|-H|export|npx) /;

test('every message has a Chinese text', () => {
  assert.ok(found.messages.size > 150);
  const isKnown = (text: string): boolean =>
    text === EPILOGUE ||
    NOT_PRINTED.includes(text) ||
    COMMAND.test(text) ||
    HELP_ZH_CN[text] !== undefined ||
    (text.startsWith('error: ') && !/[a-z]/.test(translateUsageError(text))) ||
    PHRASES_ZH_CN[text] !== undefined ||
    CHINESE.quantity(text) !== text ||
    !translateOutput(`It was not charged. ${text.trim()}`).endsWith(text.trim()) ||
    translateOutput(text) !== text;
  assert.deepEqual(
    [...found.messages].filter((text) => !isKnown(text)),
    [],
  );
});

/** Words that the service sends, and texts that are chosen by one of them. */
const SERVICE_WORDS = [
  ...[...Object.values(OPENAI_STATUS), ...TICKET_STATUS].map((state) => state.replace('_', ' ')),
  ...[...REQUEST_STATUSES, ...RECEIPT_OUTCOMES, ...BATCH_STATUSES, ...DELIVERY_STATUS],
  ...Object.keys(RECEIPT_LINES_ZH_CN),
  ...[...ROLES, ...ORGANIZATION_ROLES, 'video', 'chat', 'image', 'credits', 'units', 'gone', 'failing'],
  ...[
    'support',
    'you',
    'device sign-in',
    'video-model',
    'chat-model',
    'Today',
    'No plan',
    'allowance',
    'wallet',
    'configuration',
    'database',
    'master key',
    'vendors',
    'mail',
    'proxy',
  ],
  ...'channel model group user key code task ended-task'.split(' ').flatMap((kind) => [kind, `${kind}s`]),
  ...'option table path ledger total reading importing checking skipped different'.split(' '),
];

test('every label, head of a column, state and phrase has a Chinese text, and every Chinese text belongs to one', () => {
  assert.ok(found.phrases.size > 150);
  const texts = new Set([...found.phrases, ...SERVICE_WORDS]);
  assert.deepEqual(
    [...texts].filter((text) => PHRASES_ZH_CN[text] === undefined),
    [],
    'src/cli/phrases-zh-cn.ts',
  );
  assert.deepEqual(
    Object.keys(PHRASES_ZH_CN).filter((text) => !texts.has(text) && !found.messages.has(text)),
    [],
    'of no command',
  );
  for (const [english, chinese] of Object.entries(PHRASES_ZH_CN))
    assert.equal(chinese.split('#').length, english.split('#').length, `${english}: the same values`);
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
  assert.equal(translateOutput('"" is no task_id.'), '“”不是有效的 task_id。');
  assert.equal(translateOutput('Something else.'), 'Something else.');
  for (const [english, chinese] of OUTPUT_ZH_CN)
    assert.equal(chinese.split('#').length, english.split('#').length, `${english}: the same values`);
});

test('results are translated on a terminal, except for data, and stay as they are in a pipe', () => {
  const [terminal, pipe] = [
    { isTerminal: true, hasColor: false },
    { isTerminal: false, hasColor: false },
  ];
  Output.translation = CHINESE;
  try {
    const table = formatTable(['TASK', 'STATUS', 'COST'], [['all', word('queued'), '0.28 credits']]);
    assert.equal(render(table, terminal), '任务  状态    费用\nall   排队中  0.28 积分');
    assert.equal(render(table, pipe), 'all\tqueued\t0.28 credits');
    assert.equal(render(joinTexts([word('wallet'), '0.28 credits'], ' '), terminal), '余额 0.28 积分');
    const details = formatKeyValues({ Prompt: 'all', Cost: phrase`${'0.28 credits'}, reserved` });
    assert.equal(render(details, terminal), '提示词  all\n费用    0.28 积分（预扣）');
    assert.equal(render(details, pipe), 'Prompt\tall\nCost\t0.28 credits, reserved');
    assert.equal(render(relativeTime(Date.now() / 1000 - 190), terminal), '3 分钟前');
  } finally {
    Output.translation = ENGLISH;
  }
});

test('every translated text is one that a command prints', () => {
  const words = (text: string): string => text.replace(/\s+/g, ' ').trim();
  const sources = ['.', '../sdk', '../server/commands'].flatMap((folder) =>
    globSync('**/*.ts', { cwd: join(import.meta.dirname, folder) })
      .filter((path) => !path.startsWith('translate-') && !path.includes('.test.'))
      .map((path) => readFileSync(join(import.meta.dirname, folder, path), 'utf8')),
  );
  const text = words([...sources, readFileSync(quickstart, 'utf8')].join('\n'));
  for (const [english] of OUTPUT_ZH_CN)
    for (const part of english
      .split('#')
      .map(words)
      .filter((each) => each.length > 12))
      assert.ok(text.includes(part.replace(/["']$/, '')), english);
});
