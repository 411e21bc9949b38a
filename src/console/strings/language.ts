import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { Namespace } from './namespaces.ts';
import { LANGUAGE_KEY, type Language, preferredLanguage } from './preferred-language.ts';

const stringFiles = import.meta.glob<{ default: object }>('./{en,zh-cn}/*.ts');

export const currentLanguage = (): Language =>
  // Requests already name a language before i18next has loaded its first texts.
  (i18next.language ?? preferredLanguage()) === 'zh-cn' ? 'zh-cn' : 'en';

/**
 * Sets up i18next; texts load per language and namespace when first needed. @param first namespaces to load initially,
 * besides `app`
 */
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
      // Starts loading texts in this task instead of the next one.
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

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const isField = (target: EventTarget | null): target is Field =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;

/**
 * Replaces the browser's validation messages, which are in the browser's language instead of the selected one. Each
 * field gets our text when it is found invalid and loses it on the next change, because a remaining text would keep the
 * field invalid.
 */
export function translateValidationMessages(): void {
  document.addEventListener(
    'invalid',
    ({ target }) => {
      if (!isField(target)) return;
      target.setCustomValidity('');
      if (!target.validity.valid) target.setCustomValidity(messageFor(target));
    },
    true,
  );
  for (const event of ['input', 'change'])
    document.addEventListener(
      event,
      ({ target }) => {
        if (isField(target)) target.setCustomValidity('');
      },
      true,
    );
}

/** The rule a value breaks; that of a format is in the description of the field. */
function messageFor(field: Field): string {
  const { validity } = field;
  const limit = (name: string): string => field.getAttribute(name) ?? '';
  if (validity.valueMissing) return i18next.t('validation.required');
  if (validity.typeMismatch || field.type === 'url')
    return i18next.t(field.type === 'email' ? 'validation.email' : 'validation.url');
  if (validity.tooShort) return i18next.t('validation.tooShort', { min: limit('minlength') });
  if (validity.tooLong) return i18next.t('validation.tooLong', { max: limit('maxlength') });
  if (validity.rangeUnderflow) return i18next.t('validation.min', { min: limit('min') });
  if (validity.rangeOverflow) return i18next.t('validation.max', { max: limit('max') });
  const rule = document.getElementById(field.getAttribute('aria-describedby')?.split(' ', 1)[0] ?? '');
  return `${i18next.t('validation.format')} ${rule?.textContent ?? ''}`.trim();
}
