export const API_KEY = 'AIzaSandboxGemini0123456789abcdef';
export const MODELS = ['sandbox-gemini'];
