/** The language of the user's locale, as far as there are texts in it. */
export function readLanguage(): 'en' | 'zh-CN' {
  const { LC_ALL, LANG } = process.env;
  return (LC_ALL || LANG)?.startsWith('zh') === true ? 'zh-CN' : 'en';
}
