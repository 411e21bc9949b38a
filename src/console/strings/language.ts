import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { Namespace } from './namespaces.ts';
import { LANGUAGE_KEY, type Language, preferredLanguage } from './preferred-language.ts';

const stringFiles = import.meta.glob<{ default: object }>('./{en,zh-cn}/*.ts');

export const currentLanguage = (): Language =>
  // Before the first texts have arrived i18next has no language yet, and requests name one already.
  (i18next.language ?? preferredLanguage()) === 'zh-cn' ? 'zh-cn' : 'en';

/** Texts come by language and area, each when a page first needs it. @param first the areas to begin with, besides `app` */
export async function initLanguage(first: readonly Namespace[]): Promise<void> {
  await i18next
    .use({
      type: 'backend',
      read(language: string, namespace: string, done: (error: unknown, texts?: object) => void) {
        const load = stringFiles[`./${language}/${namespace}.ts`];
        if (load === undefined) return done(new Error(`no texts for ${namespace} in ${language}`));
        load().then(({ default: texts }) => done(null, texts), done);
      },
    })
    .use(initReactI18next)
    .init({
      // The texts are asked for at once, and not with the next turn of the page's thread.
      initAsync: false,
      lng: preferredLanguage(),
      fallbackLng: false,
      lowerCaseLng: true,
      load: 'currentOnly',
      ns: ['app', ...first],
      defaultNS: 'app',
      interpolation: { escapeValue: false },
      react: { useSuspense: true },
    });
  document.documentElement.lang = toLanguageTag(currentLanguage());
}

export async function changeLanguage(language: Language): Promise<void> {
  localStorage.setItem(LANGUAGE_KEY, language);
  await i18next.changeLanguage(language);
  document.documentElement.lang = toLanguageTag(language);
}

const toLanguageTag = (language: Language): string => (language === 'zh-cn' ? 'zh-CN' : 'en');
