export const sites = {
  'sites.about':
    'Redes con nombre. Una llamada es de una sede si una de sus direcciones estaba en una red que tenía ese nombre cuando empezó la llamada; las búsquedas la encuentran como site:NOMBRE. Cuando una red pasa a otra sede, ponga fin a la entrada antigua y añada una nueva: la historia sigue siendo cierta.',
  'sites.none': 'Ninguna red tiene nombre todavía.',
  'sites.name': 'Nombre',
  'sites.networks': 'Redes',
  'sites.from': 'Desde',
  'sites.until': 'Hasta (sin incluir)',
  'sites.always': 'siempre',
  'sites.open': 'sin fin',
  'sites.add': 'Añadir una sede',
  'sites.save': 'Guardar',
  'sites.cancel': 'Cancelar',
  'sites.change': 'Cambiar',
  'sites.change_of': 'Cambiar {name}',
  'sites.file': 'Se guardan en {file}.',
  'sites.who': 'Quien tiene el derecho “cambiar reglas” pone aquí nombres a las redes.',
};
