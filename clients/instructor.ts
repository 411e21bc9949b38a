import assert from 'node:assert/strict';
import Instructor from '@instructor-ai/instructor';
import OpenAI from 'openai';
import { z } from 'zod/v3';
import { API_KEY, BASE_URL, CHAT } from './service-setup.ts';

/** Instructor: structured output through a tool's schema. Written for Zod 3. */
const client = Instructor({
  client: new OpenAI({ apiKey: API_KEY, baseURL: BASE_URL, maxRetries: 0 }) as never,
  mode: 'TOOLS',
});
const weather = await client.chat.completions.create({
  model: CHAT,
  messages: [{ role: 'user', content: 'weather?' }],
  response_model: { schema: z.object({ city: z.string() }), name: 'Weather' },
});
assert.equal((weather as { city?: string }).city, 'Paris');
