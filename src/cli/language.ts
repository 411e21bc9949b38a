/** Language of the user's locale; English if there are no texts in that language. */
export function readLanguage(): 'en' | 'zh-CN' {
  const { LC_ALL, LANG } = process.env;
  return (LC_ALL || LANG)?.startsWith('zh') === true ? 'zh-CN' : 'en';
}
