import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';

/** Reads standard input to its end, as typed on a terminal or from a pipe. Ctrl-C ends it. */
export const readStandardInput = (signal: AbortSignal): Promise<string> => text(addAbortSignal(signal, process.stdin));
