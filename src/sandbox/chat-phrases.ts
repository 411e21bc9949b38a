/** Languages the simulated models answer in. */
export type Language = 'en' | 'zh' | 'fr' | 'de' | 'es';

/** What a simulated model says in one language, and how a prompt shows that it wants it. */
export interface Phrases {
  /** Names of the language, in the languages of this table. */
  readonly names: string;
  /** Frequent words of the language; the one with most of them in a prompt is its language. */
  readonly written: RegExp;
  /** Patterns whose first group is the topic of a prompt. */
  readonly topics: readonly RegExp[];
  readonly quote: (text: string) => string;
  /** A whole question in the place of a topic. */
  readonly asTopic: (text: string) => string;
  /** The answer to a question. */
  readonly answer: (topic: string) => string;
  /** Further sentences where a number of them is wanted. */
  readonly more: readonly string[];
  readonly short: (topic: string) => string;
  readonly word: string;
  readonly yes: string;
  readonly point: (topic: string, number: number) => string;
  readonly columns: readonly string[];
  readonly cell: string;
  readonly verse: (topic: string) => readonly string[];
  /** Follows a text that was summarized, rewritten or translated; also the comment in generated code. */
  readonly notice: string;
  readonly images: (count: number) => string;
  /** A tool's result, from its fields as `is` and `and` join them. */
  readonly result: (tool: string, fields: string) => string;
  readonly is: string;
  readonly and: string;
  readonly said: (tool: string, text: string) => string;
  readonly failed: (tool: string, text: string) => string;
}

/** A list of words, matched as whole words of any alphabet. */
const anyOf = (words: string): RegExp => new RegExp(`(?<!\\p{L})(?:${words})(?!\\p{L})`, 'giu');

export const PHRASES: Readonly<Record<Language, Phrases>> = {
  en: {
    names: 'english|anglais|englisch|inglés|英语|英文',
    written: anyOf('the|is|are|an?|of|what|who|how|why|and|with|about|write|explain|give|list|me|please|to|in|for|it'),
    topics: [
      /\b(?:about|regarding|on the (?:topic|subject) of)\s+(.+)/i,
      /^(?:what|who|where|when)(?:['’]s|\s+(?:is|are|was|were))\s+(.+)/i,
      /^(?:explain|describe|define|compare|discuss|introduce)\s+(?:to me\s+)?(.+)/i,
      /^(?:write|give|make|create|tell|list|name|show|suggest)\b.*?\b(?:of|for|on)\s+(.+)/i,
    ],
    quote: (text) => `“${text}”`,
    asTopic: (text) => `“${text}”`,
    answer: (topic) =>
      `About ${topic}: this answer is simulated, because a real model only replies once a channel is added.`,
    more: [
      'It keeps to the format of the request.',
      'Its facts are placeholders.',
      'Its price is computed as for a real model.',
      'Nothing was sent to another service.',
    ],
    short: (topic) => `A simulated answer about ${topic}.`,
    word: 'Simulated',
    yes: 'Yes',
    point: (topic, number) => `${topic}, point ${number}`,
    columns: ['Subject', 'Note'],
    cell: 'simulated',
    verse: (topic) => [`${topic} in first light,`, 'words a real model would write,', 'once a channel comes.'],
    notice: 'Simulated, until a channel with a real model is added',
    images: (count) =>
      `Received ${count} ${count === 1 ? 'image' : 'images'}. This model is simulated and cannot see what they show.`,
    result: (tool, fields) => `According to ${tool}, ${fields}.`,
    is: ' is ',
    and: ', ',
    said: (tool, text) => `${tool} returned “${text}”.`,
    failed: (tool, text) => `${tool} failed: “${text}”.`,
  },
  zh: {
    names: 'chinese|mandarin|chinois|chinesisch|chino|中文|汉语|简体中文',
    written: /[\u4e00-\u9fff]/g,
    topics: [
      /关于(.+?)(?:的(?:诗|俳句|文章|故事|笑话|要点|句子|函数)|[，。？?]|$)/,
      /^(?:请)?(?:什么是|解释一下|解释|介绍一下|介绍|描述|谈谈|说说|比较)(.+)/,
      /^(.+?)(?:是什么|是谁|在哪里|有哪些)/,
    ],
    quote: (text) => `“${text}”`,
    asTopic: (text) => `“${text}”`,
    answer: (topic) => `关于${topic}：这是模拟的回答，添加渠道后才由真实模型作答。`,
    more: ['格式按要求给出。', '内容仅为占位。', '费用与真实模型的算法相同。', '请求没有发送到其他服务。'],
    short: (topic) => `关于${topic}的模拟回答。`,
    word: '模拟',
    yes: '是',
    point: (topic, number) => `${topic}，要点 ${number}`,
    columns: ['主题', '说明'],
    cell: '模拟',
    verse: (topic) => [`${topic}初见光，`, '真实模型尚未到，', '渠道一开便成章。'],
    notice: '模拟结果，添加渠道后才由真实模型生成',
    images: (count) => `收到 ${count} 张图片。这是模拟模型，看不到图片内容。`,
    result: (tool, fields) => `根据 ${tool} 的结果，${fields}。`,
    is: ' 为 ',
    and: '，',
    said: (tool, text) => `${tool} 返回：“${text}”。`,
    failed: (tool, text) => `${tool} 调用失败：“${text}”。`,
  },
  fr: {
    names: 'french|français|franzö?sisch|francés|法语|法文',
    written: anyOf(
      "le|les?|des|une?|est|quel(?:le)?s?|pourquoi|comment|où|avec|sur|écris|donne|qui|que|dans|pour|moi|du|d'|c'est|qu'est|explique",
    ),
    topics: [
      /(?:^|\s)(?:sur|à propos (?:de|du|des)|au sujet (?:de|du|des))\s+(.+)/i,
      /^(?:qu['’]est-ce (?:que c['’]est que|que|qu['’])|qui est|où est|quel(?:le)?s? (?:est|sont))\s*(.+)/i,
      /^(?:explique|décris|définis|compare)(?:z)?(?:-moi)?\s+(.+)/i,
    ],
    quote: (text) => `« ${text} »`,
    asTopic: (text) => text,
    answer: (topic) =>
      `À propos de « ${topic} » : cette réponse est simulée, car un vrai modèle ne répond qu’une fois un canal ajouté.`,
    more: [
      'Elle respecte le format demandé.',
      'Son contenu est fictif.',
      'Son prix est calculé comme pour un vrai modèle.',
      'Rien n’a été envoyé à un autre service.',
    ],
    short: (topic) => `Réponse simulée à propos de « ${topic} ».`,
    word: 'Simulé',
    yes: 'Oui',
    point: (topic, number) => `${topic}, point ${number}`,
    columns: ['Sujet', 'Remarque'],
    cell: 'simulé',
    verse: (topic) => [`${topic} au matin,`, 'les mots d’un modèle absent,', 'qu’un canal attend.'],
    notice: 'Résultat simulé, tant qu’aucun canal n’apporte un vrai modèle',
    images: (count) =>
      `${count} ${count === 1 ? 'image reçue' : 'images reçues'}. Ce modèle est simulé et ne voit pas ce qu’elles montrent.`,
    result: (tool, fields) => `D’après ${tool}, ${fields}.`,
    is: ' est ',
    and: ', ',
    said: (tool, text) => `${tool} a renvoyé « ${text} ».`,
    failed: (tool, text) => `${tool} a échoué : « ${text} ».`,
  },
  de: {
    names: 'german|allemand|deutsch|alemán|德语|德文',
    written: anyOf(
      'der|die|das|ist|sind|eine?[nrms]?|was|wer|wie|warum|und|mit|über|schreibe?|erkläre?|mir|nicht|für|von|bitte|den|dem|gib|nenne?',
    ),
    topics: [
      /(?:^|\s)über\s+(.+)/i,
      /^(?:was|wer|wo)\s+(?:ist|sind|war|waren)\s+(.+)/i,
      /^(?:erkläre?|beschreibe?|definiere?|vergleiche?)\s+(?:mir\s+)?(.+)/i,
    ],
    quote: (text) => `„${text}“`,
    asTopic: (text) => text,
    answer: (topic) =>
      `Zu „${topic}“: Diese Antwort ist simuliert, weil ein echtes Modell erst antwortet, wenn ein Kanal hinzugefügt ist.`,
    more: [
      'Sie hält sich an das gewünschte Format.',
      'Ihr Inhalt ist ein Platzhalter.',
      'Ihr Preis wird wie bei einem echten Modell berechnet.',
      'Es wurde nichts an einen anderen Dienst gesendet.',
    ],
    short: (topic) => `Eine simulierte Antwort zu „${topic}“.`,
    word: 'Simuliert',
    yes: 'Ja',
    point: (topic, number) => `${topic}, Punkt ${number}`,
    columns: ['Thema', 'Anmerkung'],
    cell: 'simuliert',
    verse: (topic) => [`Zeilen über ${topic},`, 'noch schreibt hier kein Modell mit,', 'bis ein Kanal kommt.'],
    notice: 'Simuliert, solange kein Kanal mit einem echten Modell da ist',
    images: (count) =>
      `${count} ${count === 1 ? 'Bild' : 'Bilder'} erhalten. Dieses Modell ist simuliert und sieht nicht, was darauf ist.`,
    result: (tool, fields) => `Laut ${tool}: ${fields}.`,
    is: ' ist ',
    and: ', ',
    said: (tool, text) => `${tool} lieferte „${text}“.`,
    failed: (tool, text) => `${tool} ist fehlgeschlagen: „${text}“.`,
  },
  es: {
    names: 'spanish|espagnol|spanisch|español|castellano|西班牙语|西班牙文',
    written: anyOf(
      'el|los|las|una?|es|son|qué|quién|cómo|cuál(?:es)?|dónde|por|con|sobre|escribe|dame|para|del?|explica|enumera|me',
    ),
    topics: [
      /(?:^|\s)(?:sobre|acerca de|acerca del)\s+(.+)/i,
      /^¿?(?:qué|quién|cuál|cuáles|dónde)\s+(?:es|son|está|están)\s+(.+)/i,
      /^(?:explica|describe|define|compara)(?:me)?\s+(.+)/i,
    ],
    quote: (text) => `«${text}»`,
    asTopic: (text) => `«${text}»`,
    answer: (topic) =>
      `Sobre ${topic}: esta respuesta es simulada, porque un modelo real solo contesta cuando se añade un canal.`,
    more: [
      'Respeta el formato pedido.',
      'Su contenido es de muestra.',
      'Su precio se calcula como el de un modelo real.',
      'No se envió nada a otro servicio.',
    ],
    short: (topic) => `Una respuesta simulada sobre ${topic}.`,
    word: 'Simulado',
    yes: 'Sí',
    point: (topic, number) => `${topic}, punto ${number}`,
    columns: ['Tema', 'Nota'],
    cell: 'simulado',
    verse: (topic) => [`${topic} al alba,`, 'palabras sin un modelo,', 'que un canal traerá.'],
    notice: 'Resultado simulado, mientras ningún canal aporte un modelo real',
    images: (count) =>
      `${count} ${count === 1 ? 'imagen recibida' : 'imágenes recibidas'}. Este modelo es simulado y no ve su contenido.`,
    result: (tool, fields) => `Según ${tool}, ${fields}.`,
    is: ' es ',
    and: ', ',
    said: (tool, text) => `${tool} devolvió «${text}».`,
    failed: (tool, text) => `${tool} falló: «${text}».`,
  },
};

/** Number words of the five languages. */
export const NUMBERS: Readonly<Record<string, number>> = Object.fromEntries(
  [
    'one|ein|eine|einen|un|une|una|uno|一',
    'two|zwei|deux|dos|两|二',
    'three|drei|trois|tres|三',
    'four|vier|quatre|cuatro|四',
    'five|fünf|cinq|cinco|五',
    'six|sechs|seis|六',
    'seven|sieben|sept|siete|七',
    'eight|acht|huit|ocho|八',
    'nine|neun|neuf|nueve|九',
    'ten|zehn|dix|diez|十',
  ].flatMap((words, index) => words.split('|').map((word) => [word, index + 1])),
);

/** A function in the named programming language, and the words that name it. */
export interface CodeTemplate {
  readonly named: RegExp;
  readonly fence: string;
  readonly comment: string;
  readonly write: (name: string, comment: string) => string;
}

const snake = (name: string): string => name.replaceAll(' ', '_');
const camel = (name: string): string => name.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase());

/** The first is used when none is named. */
export const CODE: readonly CodeTemplate[] = [
  {
    named: /\bpython\b|\.py\b/i,
    fence: 'python',
    comment: '#',
    write: (name, comment) => `def ${snake(name)}(value):\n    ${comment}\n    return value`,
  },
  {
    named: /\btypescript\b|\bts\b/i,
    fence: 'typescript',
    comment: '//',
    write: (name, comment) => `function ${camel(name)}(value: string): string {\n  ${comment}\n  return value;\n}`,
  },
  {
    named: /\bjavascript\b|\bjs\b|\bnode\b/i,
    fence: 'javascript',
    comment: '//',
    write: (name, comment) => `function ${camel(name)}(value) {\n  ${comment}\n  return value;\n}`,
  },
  {
    named: /\brust\b/i,
    fence: 'rust',
    comment: '//',
    write: (name, comment) => `fn ${snake(name)}(value: &str) -> &str {\n    ${comment}\n    value\n}`,
  },
  {
    named: /\bgolang\b|\bGo\b/,
    fence: 'go',
    comment: '//',
    write: (name, comment) => `func ${camel(name)}(value string) string {\n\t${comment}\n\treturn value\n}`,
  },
  {
    named: /\bjava\b/i,
    fence: 'java',
    comment: '//',
    write: (name, comment) => `static String ${camel(name)}(String value) {\n    ${comment}\n    return value;\n}`,
  },
  {
    named: /\bsql\b/i,
    fence: 'sql',
    comment: '--',
    write: (name, comment) => `${comment}\nselect * from ${snake(name)};`,
  },
  {
    named: /\b(?:bash|shell)\b/i,
    fence: 'bash',
    comment: '#',
    write: (name, comment) => `${snake(name)}() {\n  ${comment}\n  echo "$1"\n}`,
  },
];
