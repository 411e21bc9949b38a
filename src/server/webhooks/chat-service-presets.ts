import { isObject } from '../../contract/is-object.ts';
import type { WebhookPreset } from '../../contract/webhooks.ts';

interface Message {
  readonly title: string;
  readonly text: string;
}

interface ChatPreset {
  /** JSON body of the message, by the service's documentation. */
  readonly body: (message: Message) => object;
  /** Key of the error code in the answer of a service that answers 200 whatever happened; 0 is a success. */
  readonly errorKey?: string;
}

/** Incoming webhooks of chat and push services. Their URLs hold what authenticates the sender, so nothing is signed. */
export const CHAT_PRESETS: Readonly<Record<Exclude<WebhookPreset, 'standard'>, ChatPreset>> = {
  // https://api.slack.com/messaging/webhooks; unescaped, a text such as <!channel> would notify everyone
  slack: { body: ({ title, text }) => ({ text: escapeSlack(`*${title}*\n${text}`) }) },
  // https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot
  lark: {
    body: ({ title, text }) => ({ msg_type: 'text', content: { text: withoutLarkTags(`${title}\n${text}`) } }),
    errorKey: 'code',
  },
  // https://open.dingtalk.com/document/robots/custom-robot-access
  dingtalk: {
    body: ({ title, text }) => ({ msgtype: 'text', text: { content: `${title}\n${text}` } }),
    errorKey: 'errcode',
  },
  // https://discord.com/developers/docs/resources/webhook#execute-webhook
  discord: { body: ({ title, text }) => ({ content: `**${title}**\n${text}`, allowed_mentions: { parse: [] } }) },
  // https://core.telegram.org/bots/api#sendmessage, with ?chat_id= in the URL
  telegram: { body: ({ title, text }) => ({ text: `${title}\n${text}` }) },
  // https://bark.day.app/#/tutorial
  bark: { body: ({ title, text }) => ({ title, body: text }) },
  // https://gotify.net/docs/pushmsg
  gotify: { body: ({ title, text }) => ({ title, message: text, priority: 5 }) },
};

/** https://api.slack.com/reference/surfaces/formatting#escaping */
const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A text such as <at user_id="all"> would notify everyone, and Lark has no escape for it. */
const withoutLarkTags = (text: string): string => text.replaceAll('<', '＜');

const MAX_VALUE_LENGTH = 300;
/** Discord refuses 2,000 characters, the least of all services. */
const MAX_TEXT_LENGTH = 1_800;

/** An event as a short text: its type, then one line for each plain value of its data. */
export function toMessage(type: string, data: Readonly<Record<string, unknown>>): Message {
  const lines = Object.entries(data).flatMap(([key, value]) => {
    const shown = isObject(value) && typeof value.message === 'string' ? value.message : value;
    return typeof shown === 'string' || typeof shown === 'number' || typeof shown === 'boolean'
      ? [`${key}: ${cut(String(shown), MAX_VALUE_LENGTH)}`]
      : [];
  });
  return { title: `Reelgate: ${type}`, text: cut(lines.join('\n'), MAX_TEXT_LENGTH) };
}

/** Half of a character that takes two UTF-16 units would be no text that JSON parsers accept. */
const cut = (text: string, length: number): string => text.slice(0, length).toWellFormed();

/** Whether the answer of a service that always answers 200 reports an error. */
export function reportsError({ errorKey }: ChatPreset, answer: unknown): boolean {
  return errorKey !== undefined && isObject(answer) && typeof answer[errorKey] === 'number' && answer[errorKey] !== 0;
}
