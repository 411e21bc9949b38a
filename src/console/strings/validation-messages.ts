import i18next from 'i18next';

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const isField = (target: EventTarget | null): target is Field =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;

/**
 * Browsers explain invalid fields in their own language, which need not be the one chosen here. Each field is given our text
 * when it is found invalid, and loses it when it is changed: a text left in place would keep it invalid.
 */
export function translateBrowserValidationMessages(): void {
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

function messageFor(field: Field): string {
  const { validity } = field;
  const limit = (name: string): string => field.getAttribute(name) ?? '';
  if (validity.valueMissing) return i18next.t('validation.required');
  if (validity.typeMismatch) return i18next.t(field.type === 'email' ? 'validation.email' : 'validation.url');
  if (validity.tooShort) return i18next.t('validation.tooShort', { min: limit('minlength') });
  if (validity.tooLong) return i18next.t('validation.tooLong', { max: limit('maxlength') });
  if (validity.rangeUnderflow) return i18next.t('validation.min', { min: limit('min') });
  if (validity.rangeOverflow) return i18next.t('validation.max', { max: limit('max') });
  return i18next.t('validation.format');
}
