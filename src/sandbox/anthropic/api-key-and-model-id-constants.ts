export const API_KEY = 'sk-ant-sandbox-0123456789abcdef';
export const MODELS = ['sandbox-claude'];
