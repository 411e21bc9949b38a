/** Script of the API reference: search, chosen language of samples, and trying endpoints. The page works without it. */
export const REFERENCE_SCRIPT = `'use strict';
const search = document.querySelector('#search');
const entries = [...document.querySelectorAll('.reference details.endpoint')];
const sections = [...document.querySelectorAll('.reference section.group')];
search.hidden = false;
search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const entry of entries) {
    const text = entry.dataset.words;
    entry.hidden = !words.every((word) => text.includes(word));
  }
  for (const section of sections) section.hidden = !section.querySelector('details.endpoint:not([hidden])');
  document.querySelector('#guide').hidden = words.length > 0;
  document.querySelector('#none').hidden = entries.some((entry) => !entry.hidden);
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
    event.preventDefault();
    search.focus();
  }
});
const showLanguage = (language) => {
  for (const each of document.querySelectorAll('.tabs button'))
    each.setAttribute('aria-pressed', String(each.dataset.language === language));
  for (const sample of document.querySelectorAll('pre[data-language]')) sample.hidden = sample.dataset.language !== language;
};
showLanguage('curl');
for (const button of document.querySelectorAll('.tabs button'))
  button.addEventListener('click', () => showLanguage(button.dataset.language));
for (const form of document.querySelectorAll('form.try')) {
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const output = form.querySelector('output');
    output.hidden = false;
    output.textContent = '…';
    const { method, path } = form.dataset;
    const value = (name) => form.elements.namedItem(name)?.value ?? '';
    const url = path.replace(/:(\\w+)/g, (_, name) => encodeURIComponent(value(name)));
    const headers = { Authorization: 'Bearer ' + value('key') };
    const body = method === 'GET' ? undefined : value('body');
    if (body) headers['Content-Type'] = 'application/json';
    try {
      const response = await fetch(url, { method, headers, body, credentials: 'omit' });
      const type = response.headers.get('content-type') ?? '';
      const text = /json|text/.test(type) ? await response.text() : '(' + type + ')';
      output.textContent = response.status + '\\n' + (type.includes('json') ? pretty(text) : text);
    } catch (error) {
      output.textContent = String(error);
    }
  });
}
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
if (location.hash) document.getElementById(location.hash.slice(1))?.setAttribute('open', '');
`;
