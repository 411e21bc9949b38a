export const API_KEY = 'sk-sandbox-openai-0123456789abcdef';
export const MODELS = ['sandbox-chat', 'sandbox-chat-mini', 'sandbox-embedding', 'sandbox-image'];
export const isModel = (name: unknown): name is string => typeof name === 'string' && MODELS.includes(name);
