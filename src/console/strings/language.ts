import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { Namespace } from './resources.ts';

export const LANGUAGES = { en: 'English', 'zh-cn': '中文' } as const;
export type Language = keyof typeof LANGUAGES;

const KEY = 'reelgate.language';
const files = import.meta.glob<{ default: object }>('./{en,zh-cn}/*.ts');

/** The language last chosen here, else the browser's. */
function preferred(): Language {
  const kept = localStorage.getItem(KEY);
  if (kept === 'en' || kept === 'zh-cn') return kept;
  return navigator.languages
    .find((each) => /^(zh|en)/i.test(each))
    ?.toLowerCase()
    .startsWith('zh') === true
    ? 'zh-cn'
    : 'en';
}

export const currentLanguage = (): Language => (i18next.language === 'zh-cn' ? 'zh-cn' : 'en');

/** Texts come by language and area, each when a page first needs it. */
export async function startLanguage(): Promise<void> {
  await i18next
    .use({
      type: 'backend',
      read(language: string, namespace: string, done: (error: unknown, texts?: object) => void) {
        const load = files[`./${language}/${namespace}.ts`];
        if (load === undefined) return done(new Error(`no texts for ${namespace} in ${language}`));
        load().then(({ default: texts }) => done(null, texts), done);
      },
    })
    .use(initReactI18next)
    .init({
      lng: preferred(),
      fallbackLng: false,
      lowerCaseLng: true,
      load: 'currentOnly',
      ns: ['shell'] satisfies Namespace[],
      defaultNS: 'shell',
      interpolation: { escapeValue: false },
      react: { useSuspense: true },
    });
  document.documentElement.lang = toTag(currentLanguage());
}

export async function changeLanguage(language: Language): Promise<void> {
  localStorage.setItem(KEY, language);
  await i18next.changeLanguage(language);
  document.documentElement.lang = toTag(language);
}

const toTag = (language: Language): string => (language === 'zh-cn' ? 'zh-CN' : 'en');
