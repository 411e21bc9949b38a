import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Interface } from 'node:readline/promises';
import { setImmediate } from 'node:timers/promises';
import type { Command } from 'commander';
import { ReelgateError } from '../../sdk/errors.ts';
import type { ChatMessage, ChatResult } from '../../sdk/index.ts';
import { parsePositiveInteger, repeatableOption } from '../argument-parsers.ts';
import type { CommandContext } from '../command-context.ts';
import { EXIT, UsageError } from '../errors.ts';
import { canPrompt, readTextArgument } from '../prompts.ts';
import type { RunCommand } from '../run-command.ts';

interface ChatOptions {
  readonly model?: string;
  readonly system?: string;
  readonly image: readonly string[];
  readonly maxTokens?: number;
  readonly stream: boolean;
  readonly count?: boolean;
}
/** Options with the model to call. */
type ModelOptions = ChatOptions & { readonly model: string };

/** `reelgate chat` */
export function addChatCommand(program: Command, run: RunCommand): void {
  program
    .command('chat')
    .argument('[question]', 'what to ask; "-" or none: from standard input, or a conversation on a terminal')
    .option('-m, --model <id>', 'the model; default: the one of "reelgate config", see "reelgate models"')
    .option('-s, --system <text>', 'instructions for the model')
    .addOption(repeatableOption('-i, --image <file or URL>', 'an image for the model; repeatable', 'none'))
    .option('--max-tokens <n>', 'longest response', parsePositiveInteger)
    .option('--no-stream', 'wait for the complete response')
    .option('--count', 'count the tokens of the question in place of asking it, free of charge')
    .description('Ask a language model')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate chat "Name three rivers" --model gpt-5-mini
  $ reelgate chat --model gpt-5-mini < letter.txt > answer.txt
  $ reelgate chat "What is on it?" --model gpt-5-mini --image photo.jpg`,
    )
    .action((question: string | undefined, given: ChatOptions, command: Command) =>
      run(command, async (context) => {
        const { requireModel } = await import('../default-models.ts');
        const options = { ...given, model: await requireModel(context, 'chat', given.model) };
        const isConversation = options.count !== true && canPrompt();
        if (question === undefined && isConversation) return converse(context, options);
        const text = await readTextArgument(question ?? '-', context.interruptSignal);
        if (text.trim() === '') throw new UsageError('There is no question. Give one, or pipe it in.');
        if (options.count === true) return countTokens(context, options, text);
        await askModel(context, options, [...systemMessages(options), await toMessage(text, options.image)]);
      }),
    );
}

async function countTokens({ reelgate, output, interruptSignal }: CommandContext, options: ModelOptions, text: string) {
  const { model, system, image } = options;
  if (image.length > 0) throw new UsageError('Tokens are counted of texts alone; leave out --image.');
  const request = { system, model, messages: [{ role: 'user' as const, content: text }] };
  const { tokens, source } = await reelgate.chat.countTokens(request, { signal: interruptSignal });
  output.result({ model, tokens, source }, String(tokens));
}

const systemMessages = ({ system }: ChatOptions): readonly ChatMessage[] =>
  system === undefined ? [] : [{ role: 'system', content: system }];

/** Holds a conversation on the terminal until Ctrl-D; each question is sent with all previous messages. */
async function converse(context: CommandContext, options: ModelOptions): Promise<void> {
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' });
  context.output.info(`Chatting with ${options.model}. Ctrl-D ends it.`);
  const messages: ChatMessage[] = [...systemMessages(options)];
  let { image } = options;
  // The terminal passes Ctrl-C on as a character.
  terminal.on('SIGINT', () => process.emit('SIGINT', 'SIGINT') || process.exit(EXIT.interrupted));
  const nextQuestion = readQuestions(terminal, context.interruptSignal);
  try {
    for (;;) {
      const question = await nextQuestion();
      if (question === undefined) return;
      if (question.trim() === '') continue;
      messages.push(await toMessage(question, image));
      try {
        const { content } = await askModel(context, options, messages);
        messages.push({ role: 'assistant', content });
        image = [];
      } catch (error) {
        // A failed question does not end the conversation.
        if (!(error instanceof ReelgateError)) throw error;
        messages.pop();
        context.output.notice(`Error: ${error.message}`);
      }
    }
  } finally {
    terminal.close();
  }
}

/**
 * Reads questions; the result is undefined after Ctrl-D, also during an answer. Lines that are pasted together, or were
 * typed during an answer, are one question.
 */
function readQuestions(terminal: Interface, signal: AbortSignal): () => Promise<string | undefined> {
  const lines: string[] = [];
  let isClosed = false;
  let wake = Promise.withResolvers<void>();
  terminal.on('line', (line) => {
    lines.push(line);
    wake.resolve();
  });
  terminal.once('close', () => {
    isClosed = true;
    wake.resolve();
  });
  signal.addEventListener('abort', () => wake.resolve(), { once: true });
  const isComplete = (): boolean => lines.length > 0 && terminal.line === '';
  return async () => {
    if (lines.length === 0 && !isClosed) terminal.prompt();
    for (;;) {
      wake = Promise.withResolvers();
      signal.throwIfAborted();
      if (isClosed) return undefined;
      // The other lines of a paste follow in the same turn of the event loop; its last one may still lack its end.
      if (lines.length > 0) await setImmediate();
      if (isComplete()) return lines.splice(0).join('\n');
      await wake.promise;
    }
  };
}

async function askModel(
  context: CommandContext,
  options: ModelOptions,
  messages: readonly ChatMessage[],
): Promise<ChatResult> {
  const { reelgate, output, interruptSignal: signal } = context;
  const { model, maxTokens, stream } = options;
  const request = { max_tokens: maxTokens, model, messages };
  if (!stream) {
    const result = await reelgate.chat.complete(request, { signal });
    output.result(toDocument(model, result), result.content);
    printUsage(context, result);
    return result;
  }
  const chunks = reelgate.chat.stream(request, { signal });
  try {
    for (;;) {
      const { done, value } = await chunks.next();
      if (done) {
        output.endChunks(toDocument(model, value));
        printUsage(context, value);
        return value;
      }
      output.writeChunk(value);
    }
  } catch (error) {
    output.endChunks();
    throw error;
  }
}

const toDocument = (model: string, { content, finishReason, usage }: ChatResult) => ({
  model,
  content,
  finish_reason: finishReason,
  usage: usage ?? null,
});

function printUsage({ output }: CommandContext, { usage, finishReason }: ChatResult): void {
  if (finishReason === 'length') output.info('The response was cut off at the maximum length.');
  if (output.isInteractive && usage !== undefined)
    output.info(`${usage.prompt_tokens} input tokens, ${usage.completion_tokens} output tokens`);
}

async function toMessage(text: string, images: readonly string[]): Promise<ChatMessage> {
  if (images.length === 0) return { role: 'user', content: text };
  const urls = await Promise.all(images.map(toImageUrl));
  return {
    role: 'user',
    content: [{ type: 'text', text }, ...urls.map((url) => ({ type: 'image_url', image_url: { url } }))],
  };
}

const TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
};

/** Converts a file to a data URL; URLs are returned unchanged. */
async function toImageUrl(image: string): Promise<string> {
  if (/^(https?|data):/i.test(image)) return image;
  const type = TYPES[extname(image).toLowerCase()];
  if (type === undefined) throw new UsageError(`${image} is no image a model can read: PNG, JPEG, WebP or GIF.`);
  return `data:${type};base64,${(await readFile(image)).toString('base64')}`;
}
