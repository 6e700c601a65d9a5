from hypothesis import settings

settings.register_profile("long", settings())
