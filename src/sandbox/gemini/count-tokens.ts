import { countWords } from '../chat/count-words.ts';
import type { Fields } from '../chat/untrusted-fields.ts';
import { jsonResponse, type SimulatorRequest, type SimulatorResponse } from '../define-simulator.ts';
import { readRequest } from './read-request.ts';

export function countTokens(request: SimulatorRequest): SimulatorResponse {
  const { body, fault } = readRequest(request);
  return fault ?? jsonResponse(200, { totalTokens: countPrompt(body) });
}

export const countPrompt = ({ systemInstruction, contents, tools }: Fields): number =>
  countWords([systemInstruction, contents, tools]);
