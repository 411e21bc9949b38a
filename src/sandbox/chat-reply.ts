import { asFieldList, asFields, type Fields } from './chat.ts';
import { CODE, type Language, NUMBERS, PHRASES, type Phrases } from './chat-phrases.ts';

/** A conversation as the rules below read it. */
interface Conversation {
  /** The last text of the user. */
  readonly asked: string;
  /** The text of the user before it. */
  readonly earlier: string;
  /** The model's last text. */
  readonly answered: string;
  /** System and developer messages, if they are short, and `asked`. */
  readonly whole: string;
  readonly images: number;
  readonly language: Language;
  readonly phrases: Phrases;
}

/** Instructions of a program are long, and mention every format without asking for one. */
const MAX_SYSTEM_LENGTH = 2_000;
const MAX_LENGTH = 4_000;
/** Of a longer text, only the end is searched for what agents add. */
const MAX_READ = 100_000;
const DIRECTIVE = /\[[a-z]{3,8}=[-\w]{1,64}\]/;

/**
 * The reply of the simulated models to a conversation in any of the dialects; undefined: the fixed words, as for a
 * greeting or a prompt with directives.
 */
export function composeChatReply(system: unknown, messages: unknown): string | undefined {
  const list = asFieldList(messages);
  const questions = list.filter(({ role }) => role === 'user').map(({ content }) => readText(content));
  const said = questions.filter((text) => text !== '');
  const asked = said.at(-1) ?? '';
  if (DIRECTIVE.test(asked)) return undefined;
  const isInstruction = ({ role }: Fields): boolean => role === 'system' || role === 'developer';
  const instructions = [textOf(system), ...list.filter(isInstruction).map(({ content }) => textOf(content))].join('\n');
  const rules = instructions.length > MAX_SYSTEM_LENGTH ? '' : instructions;
  const language = chooseLanguage(asked, rules);
  const phrases = PHRASES[language];
  const results = findLatestResults(list.filter((message) => !isInstruction(message)));
  if (results.length > 0) return results.map((result) => tellResult(result, phrases)).join(' ');
  if (asked === '' || questions.at(-1) === '') return undefined;
  const conversation: Conversation = {
    asked,
    earlier: said.at(-2) ?? '',
    answered: textOf(list.findLast(({ role }) => role === 'assistant' || role === 'model')?.content),
    whole: `${rules}\n${asked}`,
    images: asFieldList(list.findLast(({ role }) => role === 'user')?.content).filter(({ type }) => IMAGES.has(type))
      .length,
    language,
    phrases,
  };
  for (const rule of [writeIdeas, writePrompt, repeatText, writeJson, describeImages, writeDraft]) {
    const reply = rule(conversation);
    if (reply !== undefined) return reply.trim();
  }
  return undefined;
}

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : asFieldList(content)
        .map(({ text }) => (typeof text === 'string' ? text : ''))
        .join(' ')
        .trim();

/** A user's text without what coding agents add to it; of a long one, its beginning and its end. */
function readText(content: unknown): string {
  const text = textOf(content)
    .slice(-MAX_READ)
    .replace(/<(system-reminder|environment_\w+)>[\s\S]*?<\/\1>/g, '')
    .trim();
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH / 2)}\n${text.slice(-MAX_LENGTH / 2)}`;
}

const LANGUAGES = Object.keys(PHRASES) as Language[];
/** English last, because its short words are words of other languages too. */
const WRITTEN = LANGUAGES.toReversed();

/** The language a prompt names (`in French`, `auf Deutsch`, `用中文`), otherwise the one it is written in. */
function chooseLanguage(asked: string, rules: string): Language {
  for (const text of [asked, rules]) {
    const named = LANGUAGES.find((language) =>
      new RegExp(
        `(?<!\\p{L})(?:in|into|to|auf|ins|en|al|au)\\s+(?:\\p{L}+\\s)?(?:${PHRASES[language].names})(?!\\p{L})|[用成为以]\\s*(?:${PHRASES[language].names})`,
        'iu',
      ).test(text),
    );
    if (named !== undefined) return named;
  }
  const counts = WRITTEN.map((language) => asked.match(PHRASES[language].written)?.length ?? 0);
  const most = Math.max(...counts);
  return (most === 0 ? undefined : WRITTEN[counts.indexOf(most)]) ?? 'en';
}

/** A tool's result. */
interface ToolResult {
  readonly tool: string;
  readonly text: string;
  readonly isError: boolean;
}

const idOf = ({ tool_call_id: chat, call_id: response, tool_use_id: message }: Fields): unknown =>
  chat ?? response ?? message;

/** Each message with its parts, because dialects have calls and results in either place. */
const partsOf = (message: Fields): readonly Fields[] => [
  message,
  ...asFieldList(message.tool_calls),
  ...asFieldList(message.content),
];

const isResult = ({ role, type }: Fields): boolean =>
  role === 'tool' || type === 'function_call_output' || type === 'tool_result';

/** The results at the end of the conversation, to which the model replies; empty if the user has spoken since. */
function findLatestResults(messages: readonly Fields[]): readonly ToolResult[] {
  const start = messages.findLastIndex((message) => !partsOf(message).some(isResult)) + 1;
  const results = messages.slice(start).flatMap((message) => partsOf(message).filter(isResult));
  if (results.length === 0) return [];
  const names = new Map(
    messages
      .flatMap(partsOf)
      .filter((part) => !isResult(part))
      .map((part) => [part.call_id ?? part.id, asFields(part.function).name ?? part.name]),
  );
  return results.map((result) => {
    const { content, output, is_error: isError, name } = result;
    const text = typeof (content ?? output) === 'string' ? String(content ?? output) : textOf(content ?? output);
    const tool = name ?? names.get(idOf(result));
    return { tool: typeof tool === 'string' ? tool : 'tool', text: text.trim(), isError: isError === true };
  });
}

const MAX_QUOTE = 240;
const MAX_FIELDS = 8;
const WRAPPERS: readonly string[] = ['output', 'result', 'content', 'text', 'data'];

/** A sentence with the values of a result: the fields of an object, a quoted text, or its error. */
function tellResult({ tool, text, isError }: ToolResult, phrases: Phrases): string {
  const value = unwrap(parseJson(text));
  const error = asFields(value).error;
  const quote = (told: unknown): string => {
    const shown = typeof told === 'string' ? told : JSON.stringify(told);
    return shown.length > MAX_QUOTE ? `${shown.slice(0, MAX_QUOTE)}…` : shown;
  };
  if (isError || (error !== undefined && error !== null && error !== false))
    return phrases.failed(tool, quote(asFields(error).message ?? error ?? value));
  if (typeof value === 'string') return phrases[/^error\b/i.test(value) ? 'failed' : 'said'](tool, quote(value));
  const fields = listFields(value).slice(0, MAX_FIELDS);
  if (fields.length === 0) return phrases.said(tool, quote(value));
  return phrases.result(tool, fields.map(([name, told]) => `${name}${phrases.is}${quote(told)}`).join(phrases.and));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The value inside an object that only wraps it, as Google's dialect requires. */
function unwrap(value: unknown): unknown {
  const [entry, ...others] = Object.entries(asFields(value));
  if (Array.isArray(value) || entry === undefined || others.length > 0 || !WRAPPERS.includes(entry[0])) return value;
  return typeof entry[1] === 'string' ? parseJson(entry[1]) : entry[1];
}

/** The scalars of a value, each with its path. */
function listFields(value: unknown, path = '', depth = 0): readonly (readonly [path: string, value: unknown])[] {
  if (typeof value !== 'object' || value === null || depth > 3) return path === '' ? [] : [[path, value]];
  return Object.entries(value).flatMap(([name, each]) => {
    const place = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    return listFields(each, place, depth + 1);
  });
}

/** Requests for the prompt of a video, as the console and people word them. */
const ASKS_FOR_PROMPT = /(?=[\s\S]*(?:video|视频))(?=[\s\S]*(?:prompt|提示词))/i;
const SUBJECT = /(?:prompt[^:]*?\b(?:of|about|showing)\b|prompt:|提示词[：:])\s*/i;
const NUMBERED = /\b([2-9])\s+(?:ideas|titles|names|prompts|examples)\b(?:\s+(?:for|of|about)\s+(.+))?/i;

function writeIdeas({ asked }: Conversation): string | undefined {
  const [, count, topic = 'a sea at dawn'] = NUMBERED.exec(asked) ?? [];
  if (count === undefined) return undefined;
  return Array.from({ length: Number(count) }, (_, index) => `${index + 1}. ${topic}, take ${index + 1}`).join('\n');
}

function writePrompt({ asked, whole }: Conversation): string | undefined {
  if (!ASKS_FOR_PROMPT.test(whole)) return undefined;
  const subject = (asked.split(SUBJECT).at(-1) ?? asked).replace(/[.。\s]+$/, '');
  return HAS_CHINESE.test(subject)
    ? `${subject}，缓慢推镜，柔和的晨光，浅景深，细节丰富，35 毫米胶片质感`
    : `${subject}, slow dolly in, soft morning light, shallow depth of field, fine detail, 35 mm film`;
}
const HAS_CHINESE = /[\u4e00-\u9fff]/;

/** A request for an exact text: `Reply with exactly: yes`, `Say "hello"`, `请回答：好`. */
const EXACT_TEXT =
  /\b(?:say|reply|respond|answer)\b(?:\s+(?:with|exactly|only|just|the|one|single|words?))*(?:\s*[:：]\s*|\s+(?=["“]))["“]?([^"”\n]{1,200}?)["”]?\.?$|(?:回答|回复|请说)[:：]\s*["“]?([^"”\n]{1,200}?)["”]?。?$/i;

function repeatText({ asked }: Conversation): string | undefined {
  const exact = EXACT_TEXT.exec(asked);
  const text = exact?.[1] ?? exact?.[2];
  return text === undefined || /[?？]$/.test(text) ? undefined : text;
}

const ASKS_FOR_JSON =
  /\b(?:as|in|with|only|valid|return|output|write|give me|produce|en|als)\s+(?:an?\s+)?json\b|\bjson\s+(?:object|only|format)\b|(?:以|用|返回)\s*JSON/i;
const JSON_KEYS =
  /(?:\b(?:keys?|fields?|properties|members?)\s+|(?:字段|键|JSON\s*返回)[：:为是]?\s*)([\w\s,，、和"'`]+)/i;

function writeJson({ asked, whole, earlier, phrases }: Conversation): string | undefined {
  if (!ASKS_FOR_JSON.test(whole)) return undefined;
  const names = JSON_KEYS.exec(whole)?.[1]
    ?.match(/[A-Za-z_]\w*/g)
    ?.filter((name) => name !== 'and');
  if (names === undefined) return JSON.stringify({ answer: phrases.short(topicOf(asked, earlier, phrases)) });
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, 'text'])));
}

const ASKS_ABOUT_IMAGE =
  /\b(?:images?|pictures?|photos?|describe|what|see|imagen|décris|bild|was)\b|qu['’]est|qué|图|照片|看到/i;
const IMAGES: ReadonlySet<unknown> = new Set(['image_url', 'input_image', 'image']);

const describeImages = ({ asked, images, phrases }: Conversation): string | undefined =>
  images > 0 && ASKS_ABOUT_IMAGE.test(asked) ? phrases.images(images) : undefined;

/** What an answer consists of, before it gets the format that was asked for. */
interface Draft {
  readonly topic: string;
  /** Sentences or lines of the answer; undefined: the answer to a question. */
  readonly lines?: readonly string[];
  /** The answer where no format was asked for. */
  readonly plain?: string;
}

/** What a prompt wants done; the first that matches. */
const TASKS: readonly (readonly [RegExp, (conversation: Conversation, topic: string) => Draft])[] = [
  [
    /\btransl|traduis|traduire|traduc|übersetz|翻译|译成/i,
    (conversation, topic) => processText(conversation, topic, (text) => conversation.phrases.quote(text)),
  ],
  [
    /summar|tl;?dr|résum|zusammenfass|fasse?\b.*\bzusammen|resum[ei]|总结|概括|摘要/i,
    (conversation, topic) => processText(conversation, topic, (text) => splitSentences(text)[0] ?? text),
  ],
  [
    /rewrite|rephras|paraphras|reword|proofread|polish|\bcorrect (?:this|the|my)|\b(?:improve|fix) (?:this|the|my) (?:text|sentence|wording)|reformul|réécri|umformulier|schreibe? .*\bum\b|reescrib|改写|润色|重写/i,
    (conversation, topic) => processText(conversation, topic, (text) => closeSentence(capitalize(text))),
  ],
  [
    /haiku|\bpoem|limerick|\bverses?\b|poème|gedicht|poema|俳句|写.*诗/i,
    ({ phrases }, topic) => {
      const lines = phrases.verse(topic).map(capitalize);
      return { topic, lines, plain: lines.join('\n') };
    },
  ],
];
const ASKS_FOR_CODE =
  /\b(?:function|script|snippet|sql query|fonction|funktion|función)\b|\b(?:write|show).*\b(?:code|program|class)\b|(?:写|实现).*(?:函数|代码|脚本|程序)/i;

/** A text to work on: the one after a colon or in quotes, or else the model's last answer. */
function processText(
  { asked, answered, phrases }: Conversation,
  topic: string,
  process: (text: string) => string,
): Draft {
  const given = /[:：]\s*([\s\S]+)$|\n\s*([\s\S]+)$|["“«„]([^"”»“]+)["”»“]/.exec(asked)?.slice(1);
  const named = /\btranslate\s+(.+?)\s+(?:in)?to\b|把(.+?)(?:翻译|译)/i.exec(asked)?.slice(1);
  const found = [...(given ?? []), ...(named ?? [])].find((each) => each !== undefined) ?? answered;
  const text = (/^(?:this|that|it)$/i.test(found) ? answered : found).trim().replace(/^["“«„]|["”»“]$/g, '');
  if (text === '') return { topic };
  return { topic, lines: splitSentences(text), plain: `${process(text)} (${phrases.notice})` };
}

const splitSentences = (text: string): readonly string[] =>
  (text.match(/[^.!?。！？]+(?:[.!?。！？]+|$)/g) ?? [text]).map((each) => each.trim()).filter((each) => each !== '');

function writeCode(asked: string, phrases: Phrases): string {
  const [fallback] = CODE;
  const { fence, comment, write } = CODE.find(({ named }) => named.test(asked)) ?? fallback ?? PLAIN;
  const [, purpose = ''] =
    /\b(?:that|to|which|for|named|called|about|qui|die|que|para|pour|zum)\s+(.+)/i.exec(asked) ?? [];
  const words = (purpose.match(/[A-Za-z]+/g) ?? [])
    .filter((word) => word.length > 2 && !CODE.some(({ named }) => named.test(word)))
    .slice(0, 3);
  const name = words.length === 0 ? 'answer' : words.join(' ').toLowerCase();
  return `\`\`\`${fence}\n${write(name, `${comment} ${phrases.notice}`)}\n\`\`\``;
}
const PLAIN = { fence: '', comment: '#', write: (_name: string, comment: string): string => comment };

/** A number that does not continue a word; Chinese has no spaces before it. */
const COUNT = `(?<![\\p{Script=Latin}\\d一二两三四五六七八九十])(\\d{1,2}|${Object.keys(NUMBERS).join('|')})`;
const toCount = (word: string): number => NUMBERS[word.toLowerCase()] ?? Number(word);

type Format = (draft: Draft, phrases: Phrases, match: RegExpExecArray, asked: string) => string;

/** Sentences of an answer, at least as many as wanted. */
const sentencesOf = ({ topic, lines }: Draft, phrases: Phrases, wanted: number): readonly string[] => [
  ...(lines ?? [phrases.answer(topic)]),
  ...phrases.more,
  ...Array.from({ length: wanted }, (_, index) => `${phrases.point(topic, index + 1)}.`),
];

const pointsOf = ({ topic, lines }: Draft, phrases: Phrases, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => lines?.[index] ?? phrases.point(topic, index + 1));

const BULLETS = /bullet|stichpunkt|\bpuces\b|viñeta|要点|项目符号/i;
const writeList =
  (byDefault: number): Format =>
  (draft, phrases, [, count], asked) =>
    pointsOf(draft, phrases, count === undefined ? byDefault : toCount(count))
      .map((point, index) => (BULLETS.test(asked) ? `- ${point}` : `${index + 1}. ${point}`))
      .join('\n');

const writeTable: Format = (draft, phrases, _match, asked) => {
  const named = /(?:columns?|spalten|colonnes?|columnas?|列)\s*[:：为是]?\s*([^.。\n]+)/i.exec(asked)?.[1] ?? '';
  const columns = splitNames(named);
  const header = columns.length > 1 ? columns : phrases.columns;
  const rows = new RegExp(`${COUNT}\\s*(?:rows|zeilen|lignes|filas|行)`, 'iu').exec(asked)?.[1];
  const compared = /\bcompar\w*\s+(.+?)\s+(?:and|with|vs\.?|to|und|mit|et|y|con)\s+(\S+)|比较(.+?)[和与](\S+?)[的，]/i
    .exec(asked)
    ?.slice(1)
    .filter((each) => each !== undefined);
  const first = compared ?? pointsOf(draft, phrases, rows === undefined ? 3 : toCount(rows));
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const body = first.map((cell) => line(header.map((_, index) => (index === 0 ? cell : phrases.cell))));
  return [line(header), line(header.map(() => '---')), ...body].join('\n');
};

const splitNames = (text: string): readonly string[] =>
  text
    .split(/\s*(?:[,，、/]|\band\b|\bund\b|\bet\b|\by\b|和)\s*/)
    .map((each) => each.replace(/["'`“”()]/g, '').trim())
    .filter((each) => each !== '' && !/^\d/.test(each) && each.split(' ').length <= 3)
    .slice(0, 6);

const writeSentences: Format = (draft, phrases, [, count = '1']) =>
  sentencesOf(draft, phrases, toCount(count))
    .slice(0, toCount(count))
    .join(phrases === PHRASES.zh ? '' : ' ');

const writeLines: Format = ({ topic, lines = [] }, phrases, [, count = '1']) =>
  Array.from(
    { length: toCount(count) },
    (_, index) => lines[index % Math.max(lines.length, 1)] ?? phrases.point(topic, index + 1),
  ).join('\n');

/** As many sentences as fit into a number of words, or characters in Chinese; exactly that many where asked for. */
const writeWords: Format = (draft, phrases, [, exact, count = '50']) => {
  const limit = toCount(count);
  const isChinese = phrases === PHRASES.zh;
  const unitsOf = (text: string): readonly string[] => (isChinese ? [...text] : text.split(/\s+/));
  const separator = isChinese ? '' : ' ';
  const all = sentencesOf(draft, phrases, exact === undefined ? 1 : limit);
  if (exact !== undefined) return closeSentence(unitsOf(all.join(separator)).slice(0, limit).join(separator));
  let end = all.length;
  while (end > 0 && unitsOf(all.slice(0, end).join(separator)).length > limit) end -= 1;
  const fitting = all.slice(0, Math.min(end, 2)).join(separator);
  if (fitting !== '') return fitting;
  return closeSentence(unitsOf(phrases.short(draft.topic)).slice(0, limit).join(separator));
};

const closeSentence = (text: string): string => (HAS_CHINESE.test(text) ? text : `${text.replace(/[,;:.\s]*$/, '')}.`);

const LIST_VERBS =
  'list|name|give(?: me)?|top|tell me|nenne?|gib mir|zähle?|cite|liste|donne(?:-moi)?|nomme|enumera|nombra|dame|列出|列举|说出|给我|给出';
const WORDS = 'words?|wörtern?|wörter|worte|mots|palabras';

/** Formats a prompt asks for; the first that matches. */
const FORMATS: readonly (readonly [RegExp, Format])[] = [
  [/\byes or no\b|oui ou non|ja oder nein|sí o no|是(?:或|还是)(?:否|不是)/i, (_, { yes }) => yes],
  [
    /\b(?:one|single)[- ]word\b|\bun (?:seul )?mot\b|\b(?:einem|einem einzigen|ein) wort\b|\buna (?:sola )?palabra\b|一个(?:词|字)/i,
    (_, { word }) => word,
  ],
  [
    /markdown table|\b(?:as|in|into|make|create|write|draw) an? (?:\w+ )?table\b|\btable (?:of|with|comparing)\b|\btabelle\b|\btableau\b|\btabla\b|表格/i,
    writeTable,
  ],
  [
    new RegExp(
      `${COUNT}\\s*(?:\\p{L}+\\s)?(?:bullet points?|bullets|points|stichpunkte?|puces|viñetas|(?:个)?要点)`,
      'iu',
    ),
    writeList(3),
  ],
  [
    new RegExp(`${COUNT}\\s*(?:\\p{L}+\\s)?(?:sentences?|phrases?|sätzen?|satz|frases?|oraciones|句(?:话)?)`, 'iu'),
    writeSentences,
  ],
  [new RegExp(`${COUNT}\\s*(?:\\p{L}+\\s)?(?:lines?|zeilen?|lignes?|líneas?|vers|行)(?!\\p{L})`, 'iu'), writeLines],
  [
    new RegExp(
      `(exactly|precisely|genau|exactement|exactamente|正好|恰好)?\\s*(\\d{1,3}|${Object.keys(NUMBERS).join('|')})\\s*(?:(?:${WORDS})(?!\\p{L})|个?字)`,
      'iu',
    ),
    writeWords,
  ],
  [new RegExp(`(?<!\\p{L})(?:${LIST_VERBS})\\s*(?:the\\s+|me\\s+)?${COUNT}(?=[\\s个条种点位座])`, 'iu'), writeList(3)],
  [
    new RegExp(
      `(?:\\b(?:numbered|bullet(?:ed)?|ordered) list\\b|nummerierte liste|liste (?:numérotée|à puces)|lista numerada|(?:编号|有序|无序)列表)(?:\\s+(?:of|mit|de|con)\\s+${COUNT}(?!\\p{L}))?`,
      'iu',
    ),
    writeList(3),
  ],
  [
    /\bcode block\b|bloc de code|codeblock|bloque de código|代码块/i,
    (draft, phrases) => `\`\`\`\n${(draft.lines ?? [phrases.answer(draft.topic)]).join(' ')}\n\`\`\``,
  ],
  [
    /\b(?:shorter|briefly|concise(?:ly)?|be brief|in short|kürzer|kurz|plus court|brièvement|más corto|brevemente)\b|简短|更短|简要/i,
    ({ topic, lines }, phrases) => lines?.[0] ?? phrases.short(topic),
  ],
];

/** The answer to anything else; undefined for a greeting, or a word or two that ask nothing. */
function writeDraft(conversation: Conversation): string | undefined {
  const { asked, whole, earlier, phrases } = conversation;
  if (ASKS_FOR_CODE.test(asked)) return writeCode(asked, phrases);
  const task = TASKS.find(([pattern]) => pattern.test(asked))?.[1];
  const isFormatted = FORMATS.some(([pattern]) => pattern.test(asked));
  if (task === undefined && !isFormatted && asksNothing(asked)) return undefined;
  const topic = topicOf(asked, earlier, phrases);
  const draft = task?.(conversation, topic) ?? { topic };
  for (const [pattern, format] of FORMATS) {
    const match = pattern.exec(isFormatted ? asked : whole);
    if (match !== null) return format(draft, phrases, match, asked);
  }
  return draft.plain ?? phrases.answer(topic);
}

const GREETING = /^(?:hi|hello|hey|good (?:morning|evening)|bonjour|salut|hallo|guten tag|hola|buenos días)\b/i;
const MAX_GREETING_WORDS = 2;

function asksNothing(asked: string): boolean {
  if (/[?？]/.test(asked)) return false;
  const { length } = HAS_CHINESE.test(asked)
    ? (asked.replaceAll(/[\s，。！]/g, '').match(/.{1,2}/g) ?? [])
    : asked.split(/\s+/);
  return length <= MAX_GREETING_WORDS + (GREETING.test(asked) ? 1 : 0);
}

/** Instructions about form at the end of a topic: `in two sentences`, `as a table`, `auf Deutsch`. */
const FORM_TAIL = new RegExp(
  `[,;，；]?\\s*(?<!\\p{L})(?:(?:in|into|as|with|using|within|under|auf|als|mit|en|au|avec|sous|con|como)\\s+|[用以])(?:\\p{L}+\\s+){0,3}(?:\\d+\\s+)?(?:${Object.values(
    PHRASES,
  )
    .map(({ names }) => names)
    .join(
      '|',
    )}|json|markdown|table|tabelle|tableau|tabla|表格|code|list|liste|lista|bullets?|points?|columns?|spalten|colonnes?|columnas?|sentences?|sätzen?|satz|phrases?|frases?|lines?|${WORDS}|wort|word|mot|palabra|句)(?!\\p{L}).*$`,
  'iu',
);
/** The same at its beginning: `Answer in French:`, `用中文`. */
const FORM_HEAD =
  /^(?:(?:answer|reply|respond|réponds|antworte|responde|contesta)\b[^:]{0,60}:|用[^，。：]{1,12}?(?:文|语|个字|句话|字|词)(?:来)?(?:回答[:：]?)?)\s*/i;
const COUNTED_HEAD = new RegExp(
  `^(?:please\\s+)?(?:${LIST_VERBS})\\s*(?:the\\s+|me\\s+)?${COUNT}\\s*(?:个|条|种|点|位|座)?\\s*(.+)`,
  'iu',
);
const MAX_TOPIC = 90;

/** What a prompt is about: what its patterns name, else the quoted question; of a follow-up, what came before it. */
function topicOf(asked: string, earlier: string, phrases: Phrases): string {
  const sentences = splitSentences(asked);
  const sentence = (sentences.find((each) => /[?？]$/.test(each)) ?? sentences[0] ?? asked)
    .replace(/^(?:please|bitte|s['’]il te plaît|por favor|请)[,，]?\s*/i, '')
    .replace(FORM_HEAD, '')
    .replace(/[.!?。！？\s]+$/, '');
  const bare = sentence.replace(FORM_TAIL, '');
  for (const pattern of [...phrases.topics, ...Object.values(PHRASES).flatMap(({ topics }) => topics)]) {
    const named = pattern.exec(bare)?.[1];
    if (named !== undefined) return clip(named);
  }
  const counted = COUNTED_HEAD.exec(bare)?.[2];
  if (counted !== undefined) return clip(counted);
  const isFollowUp = earlier !== '' && bare.split(/\s+/).length <= 5 && bare.length < 30;
  return isFollowUp ? topicOf(earlier, '', phrases) : phrases.asTopic(clip(bare === '' ? sentence : bare));
}

const clip = (text: string): string => {
  const trimmed = text.trim().replace(/^\d{1,2}\s+|[\s,;:，；：]+$/g, '');
  return trimmed.length > MAX_TOPIC ? `${trimmed.slice(0, MAX_TOPIC).replace(/\s\S*$/, '')}…` : trimmed;
};

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
