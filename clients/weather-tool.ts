import { jsonSchema, tool } from 'ai';
import { WEATHER } from './service-setup.ts';

/** A tool for Vercel's AI SDK that always says "sunny". @param asked receives the arguments of each call */
export const weatherTool = (asked: unknown[]) =>
  tool({
    inputSchema: jsonSchema(WEATHER as never),
    execute: async (input: unknown) => {
      asked.push(input);
      return 'sunny';
    },
  });
