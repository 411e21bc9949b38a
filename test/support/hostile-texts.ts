/** Texts that harm code that displays, frames or stores them carelessly. All of them are valid, storable text. */
const SEEDS = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '</textarea><script>alert(1)</script>',
  '</title></style></script><iframe srcdoc="<script>alert(1)</script>">',
  "'-alert(1)-'",
  '#{alert(1)}{{constructor.constructor("alert(1)")()}}',
  '[click](javascript:alert(1))',
  '![x](x"onerror="alert(1))',
  '<a href="java\tscript:alert(1)">x</a>',
  '<math><mtext></p><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  'data: {"id":1}\n\nevent: notification\nid: 9.9\ndata: {"title":"forged"}\n\n',
  'a\rb\r\nc\u2028d\u2029e\u0085f',
  '\u001b[2J\u001b]0;owned\u0007\u009b31m',
  '\u202egnp.exe\u2066\u2069',
  '=cmd|"/C calc"!A1',
  '@SUM(1+1)*cmd',
  '%00%0d%0aSet-Cookie: a=b',
  "' or 1=1; drop table tickets; --",
  '\\x3cscript\\x3e \\u003cscript\\u003e',
  '{"__proto__":{"admin":true}}',
  'Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324'.repeat(5),
  '👩‍👩‍👧‍👦🏳️‍🌈',
  '\ufeff\u200b\u00ad\u061c',
];
const WRAPPINGS = [
  (text: string) => text,
  (text: string) => `<!--${text}-->`,
  (text: string) => `"${text}'`,
  (text: string) => `${text}\n${text}`,
  (text: string) => `\`\`\`${text}\`\`\``,
];

/** Every hostile text in every wrapping. */
export const HOSTILE_TEXTS: readonly string[] = WRAPPINGS.flatMap((wrap) => SEEDS.map(wrap));
