import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { HELP_ZH_CN } from '../src/cli/translate-help.ts';
import { OUTPUT_ZH_CN } from '../src/cli/translate-output.ts';
import { DESCRIPTIONS_ZH_CN } from '../src/contract/messages/descriptions-zh-cn.ts';
import { EN } from '../src/contract/messages/en.ts';
import { FAILURES_EN } from '../src/contract/messages/failures-en.ts';
import { FAILURES_ZH_CN } from '../src/contract/messages/failures-zh-cn.ts';
import { SUMMARIES_ZH_CN } from '../src/contract/messages/summaries-zh-cn.ts';
import { NOUNS, ZH_CN } from '../src/contract/messages/zh-cn.ts';

/**
 * One term for one concept in all texts that people read: the console, error messages, server pages, notices, e-mails
 * and the command line. Each row: the banned wording and its replacement.
 */
const ENGLISH: readonly (readonly [not: RegExp, but: string])[] = [
  [/\bquota\b/i, 'credits; quota is the unit on the wire'],
  [/\bpackages?\b/i, 'plan'],
  [/(?<!identity )\bproviders?\b/i, 'vendor; identity provider is the term of OpenID Connect'],
  [/\bpresent (password|one|plan|key)\b/i, 'current'],
  [/\b(nobody|whoever)\b/i, 'name who it is: users, the administrator, callers'],
  [/\b(any|some|every)body\b/i, 'anyone, someone, everyone'],
  [/\bat hand\b|\bat a glance\b/i, 'say what is meant'],
  [/\b(goes|go) on\b/i, 'continue'],
  [/\bmend\b/i, 'fix'],
  [/\bfor ever\b/i, 'indefinitely'],
  [/\bnot [a-z ]{0,20}any ?more\b/i, 'no longer'],
  [/\b(bind|bound) (a|an|to|your)\b/i, 'link, linked'],
  [/\b(look again|next look)\b/i, 'check'],
  [/\blog(ged|s)? (in|out)\b/i, 'sign in, sign out'],
  [/\bin trouble\b/i, 'failing'],
  [/\b(being made|was made|is made|been made)\b/i, 'generated (a video), created (anything else)'],
  [
    /\bmake (a |an |one |your |new )*(api )?(keys?|tokens?|codes?|links?|passwords?|webhooks?|secrets?|tickets?|plans?)\b/i,
    'create',
  ],
  [/\bstands (by|in) (this|the)\b/i, 'shown under, recorded in'],
  [/\bhand(ed)? (it |him )?(over|out)\b/i, 'share, deliver'],
  [/\blet in\b/i, 'signed in, approved'],
  [/\btak(e|es|en|ing) (it|them|a star)? ?(away|back|out)\b/i, 'remove'],
  [/\b(by|one|a|no|this) mails?\b(?! (program|server|account|client))|(?<!e-)\bmail(s go|ed)\b/i, 'e-mail'],
  [/\bShape\b|What to avoid|The same by program|Put a key of yours/, 'the review of the studio'],
  [/\bvoid(s|ed)?\b|\bwithdrawn\b/i, 'revoke'],
  [/\bbroke(n)? off\b/i, 'interrupted, ended too early'],
  [/\bunder way\b/i, 'in progress'],
  [/\b(calls itself|who asks)\b/i, 'reported name, requested by'],
  [/\bdelivered again\b/i, 'redeliver'],
  [/\blike this\b(?!:)/i, 'name the thing'],
  [/\bwallets?\b/i, 'balance'],
  [/\bRemove (user|webhook|budget|client)\b/, 'delete'],
  [/\b(videos|model calls) at once$/i, 'concurrent videos, concurrent model calls'],
  [/\b(is|are) on (its|their) way\b/i, 'was sent'],
  [/\blet (one|a person|an application) in\b/i, 'approve'],
  [/^(What to make|Made (and|before|in|by))\b/, 'a video is generated'],
  [/^With this link\b/, 'use this link to'],
];

/** Forms of texts in the console, which messages for programs may have. */
const CONSOLE: readonly (readonly [not: RegExp, but: string])[] = [
  [
    /(?<!this )\bempty(:| is\b| keeps\b)|(?<!leave )(?<!is )(?<!be )\bempty for\b/i,
    'leave empty for …, leave empty to …',
  ],
  [/"/, '“…” around names'],
  [/’/, "the straight apostrophe, as in messages: '"],
  [/\b(your|move|of) things\b|\bthings (of|transferred)\b/i, 'name them: content, keys, files'],
  [/\bKind of\b/, 'type'],
  [/\bSwitch (on|off) \{\{/, 'enable, disable'],
];

/** Phrases of prose for developers and operators, which no native engineer writes (comments, test titles, documents). */
const PROSE: readonly (readonly [not: RegExp, but: string])[] = [
  [/\bunder way\b/i, 'in flight, in progress'],
  [/\b(gives?|giving|given) back\b/i, 'release, return'],
  [/\banew\b/i, 'again'],
  [/\bfor ever\b/i, 'indefinitely'],
  [/\b(goes|go) on\b/i, 'continue'],
  [/\bwhoever\b/i, 'name the party'],
  [/\b(is|are) told (by|of|that)\b/i, 'is notified, is reported'],
  [/\bat hand\b/i, 'say what is meant'],
  [/\bmend(s|ed)?\b/i, 'fix, repair'],
  [/^(Whoever|Nobody) /, 'start with a noun or a verb'],
];

const CHINESE: readonly (readonly [not: RegExp, but: string])[] = [
  [/配额/, '积分（余额）或额度（套餐）'],
  [/(发放|获取|每个)额度/, '积分'],
  [/移除(用户|工单|渠道|模型|套餐)/, '删除'],
  [/凭据/, '凭证'],
  [/预留/, '预扣'],
  [/供应方|提供商/, '供应商'],
  [/账户/, '账号'],
  [/未收费|未收取|已收取|未产生扣费/, '未扣费、已扣费'],
  [/运营方/, '管理员'],
  [/应答/, '响应'],
  [/视频制作|制作视频/, '生成视频'],
  [/API Key\b(?!s)/, 'API 密钥'],
  [/令牌(或套餐|自身)/, 'API 密钥'],
  [/套餐卡/, '套餐'],
  [/试用/, '体验：试用意为免费'],
  [/消费额度|参数模式/, '消耗积分、参数结构'],
  [/支持人员/, '客服'],
  [/条视频/, '个视频'],
  [/消息应用|通讯应用/, '即时通讯'],
  [/设备代码/, '设备验证码'],
  [/续写/, '续拍'],
  [/吊销/, '撤销'],
  [/令牌数|令牌用量/, 'token：计量单位不译'],
  [/工作台/, '工作室'],
  [/负面提示词/, '反向提示词'],
  [/消费限额/, '消费上限'],
  [/验证(该)?邮箱|邮箱验证(?!码)/, '确认邮箱'],
  [/价格系数/, '价格倍率'],
  [/签发方/, '颁发者'],
  [/(?<!可)留空：/, '留空则…，留空表示…'],
  [/[\u4e00-\u9fff]……/, '…'],
  [/(已选|其中) ?\{\{count\}\} 条|下一条[。，]/, '视频的量词为“个”'],
  [/[\u4e00-\u9fff](?:[:;,!?]| ?\()|[;,!?)][\u4e00-\u9fff“]|\([\u4e00-\u9fff]/, '全角标点：；，！？（）'],
];

/** Words the glossary excludes, per language. */
function excludedByGlossary(column: number): [not: RegExp, but: string][] {
  const glossary = readFileSync(new URL('../docs/glossary.md', import.meta.url), 'utf8');
  const rows = glossary
    .split('\n')
    .filter((line) => /^\| (?!English)/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  assert.ok(rows.length >= 20);
  return rows.map((cells) => [
    new RegExp(column === GLOSSARY_COLUMNS.en ? `\\b${cells[column]}\\b` : String(cells[column]), 'i'),
    `docs/glossary.md: ${cells[1]}, ${cells[2]}`,
  ]);
}
const GLOSSARY_COLUMNS = { en: 4, zh: 5 } as const;

/** Texts that use the banned wording on purpose, by location and beginning. */
const EXCEPTIONS: readonly (readonly [place: string, begins: string, why: string])[] = [
  ['en/admin-settings.names.QUOTA_PER_UNIT', 'Quota of one credit', 'it defines the unit'],
  ['zh-cn/admin-settings.names.QUOTA_PER_UNIT', '每积分', 'it defines the unit'],
  ['en/account.connect.hints', '', 'clients call their own settings providers'],
  ['en/notifications.announcements.targetHint', 'A page of this console', 'an address'],
  ['zh-cn/admin-channels.credentials', 'API Key', "the vendors' own name for it"],
];

interface Entry {
  readonly place: string;
  readonly text: string;
}

function entriesOf(place: string, value: unknown): Entry[] {
  if (typeof value === 'string') return [{ place, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => entriesOf(`${place}.${key}`, each));
}

const root = new URL('..', import.meta.url);
const list = (folder: string): string[] =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('.test.'))
    .map((name) => `${folder}/${name}`);

/** The sentences of a source file: quoted texts with a space that are not code, imports or paths. */
function sentencesOf(path: string): Entry[] {
  const source = readFileSync(new URL(path, root), 'utf8').replace(/^\s*(\/\/|\*|\/\*\*).*$/gm, '');
  return [...source.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)]
    .map(([, single, double, template]) => single ?? double ?? template ?? '')
    .map((text) => text.replace(/\$\{[^}]*\}/g, '…'))
    .filter((text) => text.includes(' '))
    .map((text) => ({ place: path, text }));
}

async function consoleTexts(language: 'en' | 'zh-cn'): Promise<Entry[]> {
  const folder = `src/console/strings/${language}`;
  const files = list(folder);
  const all = await Promise.all(
    files.map(async (file) => {
      const { default: texts } = (await import(new URL(file, root).href)) as { default: unknown };
      return entriesOf(`${language}/${file.slice(folder.length + 1, -3)}`, texts);
    }),
  );
  return all.flat();
}

/** Server texts that people read: the sign-in pages, and every pair of an English and a Chinese text. */
const SERVER_TEXTS: readonly Entry[] = list('src/server').flatMap((path) => {
  if (/\/(texts|reference-page)\.ts$/.test(path)) return sentencesOf(path);
  const pairs = readFileSync(new URL(path, root), 'utf8').matchAll(
    /(?:\ben|'zh-CN'): (?:'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`)/g,
  );
  return [...pairs].map(([, single, template]) => ({
    place: path,
    text: (single ?? template ?? '').replace(/\$\{[^}]*\}/g, '…'),
  }));
});

/** Summaries and descriptions of the reference, without the names of the wire. */
const REFERENCE_TEXTS: readonly Entry[] = list('src/contract').flatMap((place) =>
  [
    ...readFileSync(new URL(place, root), 'utf8').matchAll(
      /\b(?:description|summary):\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)")/g,
    ),
  ].map(([, single, double]) => ({
    place,
    text: (single ?? double ?? '').replace(/`[^`]*`|\b[a-z]+(?:[._][a-z]+)+\b/g, '…'),
  })),
);

/** Lines of the Chinese documents without the targets of their links. */
const CHINESE_DOCUMENTS: readonly Entry[] = globSync(['*.zh-CN.md', 'docs/*.zh-CN.md'], { cwd: root }).flatMap(
  (place) =>
    readFileSync(new URL(place, root), 'utf8')
      .split('\n')
      .map((line) => ({ place, text: line.replace(/\]\([^)]*\)/g, ']') })),
);

function findings(entries: readonly Entry[], table: typeof ENGLISH): string[] {
  const isExcepted = ({ place, text }: Entry): boolean =>
    EXCEPTIONS.some(([where, begins]) => place.startsWith(where) && text.startsWith(begins));
  return entries
    .filter((entry) => !isExcepted(entry))
    .flatMap(({ place, text }) =>
      table.flatMap(([not, but]) => (not.test(text) ? [`${place}: “${text}” → ${but}`] : [])),
    );
}

test('English texts of the console, errors and failures use the agreed terms', async () => {
  const entries = [
    ...(await consoleTexts('en')),
    ...entriesOf('messages/en', EN),
    ...entriesOf('messages/failures-en', FAILURES_EN),
  ];
  assert.ok(entries.length > 1_000);
  assert.deepEqual(findings(entries, [...ENGLISH, ...excludedByGlossary(GLOSSARY_COLUMNS.en)]), []);
  assert.deepEqual(findings(await consoleTexts('en'), CONSOLE), []);
});

test('summaries and descriptions of the reference use the agreed terms', () => {
  assert.ok(REFERENCE_TEXTS.length > 700);
  // Amounts on the wire are in quota.
  const table = [...ENGLISH, ...excludedByGlossary(GLOSSARY_COLUMNS.en)].filter(([not]) => !not.test('quota'));
  assert.deepEqual(findings(REFERENCE_TEXTS, table), []);
});

test('Chinese texts use the agreed terms', async () => {
  const entries = [
    ...(await consoleTexts('zh-cn')),
    ...entriesOf('messages/zh-cn', ZH_CN),
    ...entriesOf('messages/nouns', NOUNS),
    ...entriesOf('messages/failures-zh-cn', FAILURES_ZH_CN),
    ...entriesOf('messages/summaries-zh-cn', SUMMARIES_ZH_CN),
    ...entriesOf('messages/descriptions-zh-cn', DESCRIPTIONS_ZH_CN),
    ...entriesOf('cli/translate-help', HELP_ZH_CN),
    ...OUTPUT_ZH_CN.map(([place, text]) => ({ place, text })),
    ...SERVER_TEXTS,
    ...CHINESE_DOCUMENTS,
  ];
  assert.deepEqual(findings(entries, [...CHINESE, ...excludedByGlossary(GLOSSARY_COLUMNS.zh)]), []);
});

test('server pages, notices, e-mails and the command line use the agreed terms', () => {
  const entries = [...SERVER_TEXTS, ...list('src/cli').flatMap(sentencesOf)];
  assert.ok(SERVER_TEXTS.length > 100 && entries.length > 500);
  assert.deepEqual(findings(entries, ENGLISH), []);
});

test('every exception is still needed', async () => {
  const entries = [...(await consoleTexts('en')), ...(await consoleTexts('zh-cn')), ...entriesOf('messages/en', EN)];
  for (const [where, begins] of EXCEPTIONS)
    assert.ok(
      entries.some(
        ({ place, text }) =>
          place.startsWith(where) &&
          text.startsWith(begins) &&
          [...ENGLISH, ...CHINESE].some(([not]) => not.test(text)),
      ),
      where,
    );
});

/** Comments and test titles of a source file. */
function proseOf(path: string): Entry[] {
  const source = readFileSync(new URL(path, root), 'utf8');
  const comments = source.matchAll(/^\s*(?:\/\*\*|\*(?!\/)|\/\/) ?(.*?)(?:\*\/)?$/gm);
  const titles = source.matchAll(/\b(?:it|test|describe)\(\s*(?:'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`)/g);
  return [...comments, ...titles].map(([, one, other]) => ({ place: path, text: one ?? other ?? '' }));
}

test('comments, test titles and documents are written as an engineer would', () => {
  const sources = globSync('{src,importer,test,scripts,bench,mutation}/**/*.{ts,tsx}', {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  }).filter((path) => path !== 'test/wording.test.ts');
  const documents = globSync(['*.md', 'docs/**/*.md', 'bench/*.md'], { cwd: root });
  const lines = documents.flatMap((place) =>
    readFileSync(new URL(place, root), 'utf8')
      .split('\n')
      .map((text) => ({ place, text })),
  );
  const entries = [...sources.flatMap(proseOf), ...lines];
  assert.ok(entries.length > 10_000);
  assert.deepEqual(findings(entries, PROSE), []);
});
